// The size of the drawing: fitted into the page, or larger, and moved by dragging.

const STEP = 1.3;
const LARGEST = 8;
// Small machines are not blown up until four threads fill the page.
const LARGEST_FIT = 2.2;
const MOVED = 4;

/** Wire the buttons, the wheel and the pointer. */
export function watchZoom(sheet, svg) {
  const size = svg.viewBox.baseVal;
  const fit = document.getElementById("fit");
  let factor = null;

  function fitted() {
    const room = getComputedStyle(sheet);
    const width = sheet.clientWidth - parseFloat(room.paddingLeft) * 2;
    const height = sheet.clientHeight - parseFloat(room.paddingTop) * 2;
    return Math.min(width / size.width, height / size.height, LARGEST_FIT);
  }

  function resize(wanted, at) {
    const before = svg.getBoundingClientRect();
    const whole = wanted === null;
    factor = whole ? null : Math.min(LARGEST, Math.max(fitted() / 2, wanted));
    const scale = factor ?? fitted();
    svg.setAttribute("width", size.width * scale);
    svg.setAttribute("height", size.height * scale);
    fit.setAttribute("aria-pressed", String(whole));
    if (at && !whole) keepUnder(at, before);
  }

  function keepUnder(at, before) {
    const after = svg.getBoundingClientRect();
    const share = { x: (at.x - before.x) / before.width, y: (at.y - before.y) / before.height };
    sheet.scrollLeft += after.x + share.x * after.width - at.x;
    sheet.scrollTop += after.y + share.y * after.height - at.y;
  }

  function middle() {
    const box = sheet.getBoundingClientRect();
    return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  }

  const by = (step, at) => resize((factor ?? fitted()) * step, at);
  document.getElementById("larger").addEventListener("click", () => by(STEP, middle()));
  document.getElementById("smaller").addEventListener("click", () => by(1 / STEP, middle()));
  fit.addEventListener("click", () => resize(null));
  addEventListener("resize", () => factor === null && resize(null));
  sheet.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    by(event.deltaY < 0 ? STEP : 1 / STEP, { x: event.clientX, y: event.clientY });
  }, { passive: false });
  watchDrag(sheet);
  resize(null);
}

function watchDrag(sheet) {
  let start = null;

  sheet.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch") return;
    const { clientX: x, clientY: y } = event;
    start = { x, y, left: sheet.scrollLeft, top: sheet.scrollTop };
  });
  addEventListener("pointermove", (event) => {
    if (!start) return;
    const [x, y] = [event.clientX - start.x, event.clientY - start.y];
    if (Math.abs(x) + Math.abs(y) > MOVED) sheet.classList.add("dragged");
    sheet.scrollTo(start.left - x, start.top - y);
  });
  addEventListener("pointerup", () => {
    start = null;
    // After the click of the release, which must not open a box.
    setTimeout(() => sheet.classList.remove("dragged"));
  });
  sheet.addEventListener("dragstart", (event) => event.preventDefault());
  sheet.addEventListener("click", (event) => {
    if (sheet.classList.contains("dragged")) event.preventDefault();
  }, true);
}
