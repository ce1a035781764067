// SPDX-License-Identifier: Apache-2.0
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const canvas = document.querySelector("canvas"), about = document.getElementById("about"), pen = canvas.getContext("2d");
const COLOURS = ["#2563eb", "#15803d", "#c2410c", "#7e22ce", "#be123c", "#0e7490", "#a16207", "#4d7c0f", "#9d174d", "#334155"];
const HEAT = [[254, 243, 199], [253, 186, 116], [234, 88, 12], [153, 27, 27]];
const GUTTER = 190, AXIS = 24, FONT = "12px system-ui, 'DejaVu Sans', Arial, sans-serif";
let from = 0, to = data.end || 1;

// Rows from the top: for each group a heading, the lanes of its tracks, and a strip for each of its counters.
const rows = [], trackAt = [];
let height = AXIS;
const add = (row, size) => { rows.push({ ...row, y: height, size }); height += size; };
const lanes = data.tracks.reduce((n, track) => n + Math.max(1, track.lanes.length), 0);
const LANE = lanes > 40 ? 12 : 20, STRIP = data.counters.length > 40 ? 5 : 12;
for (const group of new Set([...data.tracks, ...data.counters].map((each) => each.group))) {
  add({ heading: group }, 22);
  data.tracks.forEach((track, index) => {
    if (track.group !== group) return;
    trackAt[index] = height + LANE / 2;
    (track.lanes.length ? track.lanes : [[]]).forEach((spans, lane) => add({ spans, name: lane ? "" : track.name }, LANE));
  });
  for (const counter of data.counters) if (counter.group === group) add({ counter, name: counter.name }, STRIP);
}
const most = Math.max(...data.counters.flatMap((counter) => counter.values.map((value) => value[1])), 1e-12);

const names = data.texts.map((text) => text.split("\n")[0]);
const colourOf = new Map();
/// Names that are equal up to the first number have the same colour.
const colour = (text) => {
  const kind = names[text].replace(/ +[^ ]*\d.*$/, "");
  if (!colourOf.has(kind)) colourOf.set(kind, COLOURS[colourOf.size % COLOURS.length]);
  return colourOf.get(kind);
};
const heat = (share) => {
  const place = Math.min(share, 1) * (HEAT.length - 1), low = Math.min(Math.floor(place), HEAT.length - 2);
  return `rgb(${HEAT[low].map((c, i) => Math.round(c + (HEAT[low + 1][i] - c) * (place - low))).join()})`;
};
const time = (us) => {
  const size = Math.abs(us) || Math.abs(to - from);
  const [unit, name] = size >= 1e6 ? [1e6, "s"] : size >= 1e3 ? [1e3, "ms"] : size >= 1 ? [1, "µs"] : [1e-3, "ns"];
  return `${+(us / unit).toPrecision(6)} ${name}`;
};
const x = (us) => GUTTER + ((us - from) / (to - from)) * (canvas.clientWidth - GUTTER);
const at = (px) => from + ((px - GUTTER) / (canvas.clientWidth - GUTTER)) * (to - from);
/// Binary search in items ordered by end: index of the first that does not end before a time.
const first = (items, us) => {
  let low = 0, high = items.length;
  while (low < high) { const middle = (low + high) >> 1; if (items[middle][1] < us) low = middle + 1; else high = middle; }
  return low;
};

function axis(width) {
  const step = (() => {
    const rough = ((to - from) / (width - GUTTER)) * 110, power = 10 ** Math.floor(Math.log10(rough));
    return [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough);
  })();
  for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) {
    pen.fillStyle = "#e2e8f0";
    pen.fillRect(x(tick), AXIS, 1, height - AXIS);
    pen.fillStyle = "#64748b";
    pen.fillText(time(Math.abs(tick) < step / 2 ? 0 : tick), x(tick) + 3, AXIS / 2);
  }
}

function spans(row) {
  let drawn = -1;
  for (let i = first(row.spans, from); i < row.spans.length && row.spans[i][0] <= to; i++) {
    const [begin, end, text] = row.spans[i], left = Math.max(x(begin), GUTTER), right = Math.max(x(end), left + 1);
    if (right <= drawn) continue;  // less than a pixel beyond the last drawn item
    drawn = Math.max(right, left + 1);
    pen.fillStyle = colour(text);
    pen.fillRect(left, row.y + 1, right - left, row.size - 2);
    if (right - left > 40 && row.size > 14) {
      pen.save();
      pen.beginPath();
      pen.rect(left, row.y, right - left - 3, row.size);
      pen.clip();
      pen.fillStyle = "#fff";
      pen.fillText(names[text], left + 4, row.y + row.size / 2);
      pen.restore();
    }
  }
}

function strip(row) {
  const values = row.counter.values;
  values.forEach(([begin, value], i) => {
    const end = i + 1 < values.length ? values[i + 1][0] : data.end;
    if (!value || end < from || begin > to) return;
    pen.fillStyle = heat(value / most);
    const left = Math.max(x(begin), GUTTER);
    pen.fillRect(left, row.y, Math.max(x(end) - left, 1), row.size - 1);
  });
}

function draw() {
  const width = canvas.clientWidth, ratio = window.devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.font = FONT;
  pen.textBaseline = "middle";
  axis(width);
  for (const row of rows) {
    if (row.spans) spans(row);
    if (row.counter) strip(row);
  }
  const seen = data.messages.filter(([, , begin, end]) => end >= from && begin <= to);
  pen.strokeStyle = "#475569";
  pen.save();
  pen.beginPath();
  pen.rect(GUTTER, AXIS, width, height);
  pen.clip();
  for (const [sender, receiver, begin, end] of seen.length > 2000 ? [] : seen) {
    if (sender === receiver) continue;
    pen.beginPath();
    pen.moveTo(x(begin), trackAt[sender]);
    pen.lineTo(x(end), trackAt[receiver]);
    pen.stroke();
  }
  pen.restore();
  pen.fillStyle = "#fff";
  pen.fillRect(0, AXIS, GUTTER, height);
  for (const row of rows) {
    pen.fillStyle = row.heading ? "#1f2937" : "#475569";
    pen.font = row.heading ? `600 ${FONT}` : row.size < 12 ? FONT.replace("12px", "9px") : FONT;
    const label = row.heading || row.name;
    if (label && (row.heading || row.size >= 9)) pen.fillText(label, row.heading ? 8 : 20, row.y + row.size / 2, row.heading ? width : GUTTER - 24);
    if (row.heading) { pen.fillStyle = "#cbd5e1"; pen.fillRect(0, row.y, width, 1); }
  }
}

function move(begin, end) {
  const length = Math.min(end - begin, data.end || 1);
  from = Math.max(0, Math.min(begin, (data.end || 1) - length));
  to = from + length;
  requestAnimationFrame(draw);
}
const zoom = (factor, us) => move(us - (us - from) * factor, us + (to - us) * factor);

function said(px, py) {
  const row = rows.find((each) => py >= each.y && py < each.y + each.size), us = at(px);
  if (!row || px < GUTTER) return "";
  if (row.counter) {
    const value = row.counter.values.filter(([begin]) => begin <= us).pop();
    return value ? `${row.counter.name}: ${value[1]} ${row.counter.unit}` : "";
  }
  const near = (2 / (canvas.clientWidth - GUTTER)) * (to - from);
  const span = row.spans && row.spans.slice(first(row.spans, us - near)).find(([begin, end]) => begin <= us + near && end >= us - near);
  return span ? `${data.texts[span[2]]}\nfrom ${time(span[0])}, for ${time(span[1] - span[0])}` : "";
}

let held = null;
canvas.addEventListener("mousedown", (event) => { held = { x: event.clientX, from, to }; });
window.addEventListener("mouseup", () => { held = null; });
canvas.addEventListener("mouseleave", () => { about.style.display = "none"; });
canvas.addEventListener("mousemove", (event) => {
  const box = canvas.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
  if (held) {
    const by = ((event.clientX - held.x) / (canvas.clientWidth - GUTTER)) * (held.to - held.from);
    return move(held.from - by, held.to - by);
  }
  const text = said(px, py);
  about.textContent = text;
  about.style.display = text ? "block" : "none";
  about.style.left = `${Math.min(px + 14, canvas.clientWidth - about.offsetWidth - 4)}px`;
  about.style.top = `${py + 16}px`;
});
canvas.addEventListener("wheel", (event) => {
  if (!event.ctrlKey) return;
  event.preventDefault();
  zoom(1.0015 ** event.deltaY, at(event.clientX - canvas.getBoundingClientRect().left));
}, { passive: false });
canvas.addEventListener("keydown", (event) => {
  const middle = (from + to) / 2, step = (to - from) / 5;
  if (event.key === "+" || event.key === "=") zoom(0.6, middle);
  else if (event.key === "-") zoom(1 / 0.6, middle);
  else if (event.key === "0") move(0, data.end);
  else if (event.key === "ArrowLeft") move(from - step, to - step);
  else if (event.key === "ArrowRight") move(from + step, to + step);
  else return;
  event.preventDefault();
});
window.addEventListener("resize", draw);

const legend = document.getElementById("legend");
const key = (text, background) => {
  const box = legend.appendChild(document.createElement("span"));
  box.appendChild(document.createElement("i")).style.background = background;
  box.append(text);
};
data.tracks.forEach((track) => track.lanes.forEach((lane) => lane.forEach((span) => colour(span[2]))));
for (const [kind, background] of colourOf) key(kind, background);
if (data.counters.length) key(`0 to ${+most.toPrecision(3)} ${data.counters[0].unit}`, `linear-gradient(90deg, ${[0, 0.25, 0.5, 0.75, 1].map(heat).join()})`);
draw();
