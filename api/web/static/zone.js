// The switch for the time zone, and the times of the server, which are in UTC: those that it
// wrote, and those that fields send.

import { chooseZone, chosenZone, fieldOf, ofField, showTime, zoneName } from "./charts/times.js";

const WHOLE = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?))?$/;
const fields = [...document.querySelectorAll("input[data-time]")];

/** Show all times within an element in the zone that was chosen. */
export function showTimes(place = document) {
  for (const element of place.querySelectorAll("time[datetime]")) showTime(element);
}

function showZone() {
  for (const input of document.querySelectorAll("input[name=zone]")) {
    input.checked = input.value === chosenZone();
  }
  for (const name of document.querySelectorAll("[data-zone]")) name.textContent = zoneName();
  showTimes();
}

/** Choose a zone; fields keep their times. */
function change(zone) {
  const times = fields.map((field) => secondsOf(field));
  chooseZone(zone);
  fillFields(times);
}

/** Seconds since 1970 of the time in a field; NaN for an incomplete time, which stays as it is. */
function secondsOf(field, zone = chosenZone()) {
  const [, day, clock = "00:00"] = WHOLE.exec(field.value.trim()) ?? [];
  return day ? ofField(`${day}T${clock}`, zone) : NaN;
}

function fillFields(times) {
  fields.forEach((field, i) => {
    if (Number.isFinite(times[i])) field.value = fieldOf(times[i]);
  });
}

/** Send times as the server takes them. */
function sendInUtc(event) {
  for (const field of fields.filter((one) => one.form === event.target)) {
    const seconds = secondsOf(field);
    if (!Number.isFinite(seconds)) continue;
    event.formData.set(field.name, new Date(seconds * 1000).toISOString().slice(0, 19));
  }
}

for (const input of document.querySelectorAll("input[name=zone]")) {
  input.addEventListener("change", () => {
    change(input.value);
    showZone();
    document.dispatchEvent(new Event("zonechange"));
  });
}
document.addEventListener("formdata", sendInUtc);
if (chosenZone() !== "utc") fillFields(fields.map((field) => secondsOf(field, "utc")));
showZone();
