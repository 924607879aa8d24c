// The switch for the time zone, and all times that the server wrote, which are in UTC.

import { chooseZone, chosenZone, showTime, zoneName } from "./charts/times.js";

/** Show all times within an element in the zone that was chosen. */
export function showTimes(place = document) {
  for (const element of place.querySelectorAll("time[datetime]")) showTime(element);
}

function showZone() {
  for (const input of document.querySelectorAll("input[name=zone]")) {
    input.checked = input.value === chosenZone();
  }
  document.getElementById("zone").textContent = zoneName();
  showTimes();
}

for (const input of document.querySelectorAll("input[name=zone]")) {
  input.addEventListener("change", () => {
    chooseZone(input.value);
    showZone();
    document.dispatchEvent(new Event("zonechange"));
  });
}
showZone();
