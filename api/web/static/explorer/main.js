// The page of one component: the tree of its host, and its series live.

import { showSeries } from "./series.js";
import { growTree } from "./tree.js";

const iri = document.querySelector("article.node").dataset.iri;
const series = document.getElementById("series");

growTree(document.getElementById("tree"));
if (series) showSeries(series, iri);
