/** Code that all explorers, predictions and quizzes share: theme, controls, pictures, and texts for screen readers.
 *
 * Create a kind with `explorer({name, controls, numbers, say, draw})`, or with `page(build)` if that does not fit.
 * Nothing here needs a kernel or a network.
 */

const SVG = "http://www.w3.org/2000/svg";
const REST = 700; // milliseconds without a change after which an explorer announces its numbers
export const SERIES = "blue vermilion green purple brown indigo pink muted".split(" ").map((name) => `var(--${name})`);

// ---------------------------------------------------------------- elements

/** Create an HTML element: `element("button", {class: "main", onclick: f}, "Go")`. */
export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Create an SVG element: `drawn("rect", {x: 0, y: 0, width: 4, height: 4, fill: "var(--blue)"})`. */
export function drawn(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Convert plain text to nodes; text between backticks becomes code. */
export function inline(text) {
  return text.split(/`([^`\n]+)`/).flatMap((part, i) =>
    i % 2 ? [element("code", {}, part)] : part.split("\n").flatMap((line, j) => (j ? [element("br"), line] : [line])));
}

/** Return plain text without the backticks around code. */
export const unquoted = (text) => text.replace(/`([^`\n]+)`/g, "$1");

/** Return the width of a text, in pixels. */
export function textWidth(text, size = 13, weight = 400) {
  textWidth.context ??= document.createElement("canvas").getContext("2d");
  textWidth.context.font = `${weight} ${size}px system-ui, sans-serif`;
  return textWidth.context.measureText(text).width * 1.03;
}

// ---------------------------------------------------------------- numbers as text

/** Format a number with `digits` decimals, a true minus, and no sign on a zero. */
export function fixed(x, digits = 2) {
  const text = x.toFixed(digits);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}

/** Format a number with at most `digits` significant digits and no zeros at the end: 0.5, −12, 0.0001. */
export function short(x, digits = 6) {
  return String(Number(x.toPrecision(digits))).replace("-", "−");
}

/** Escape invisible and direction characters as Python does; cut a text that is longer than `most`. */
export function visible(text, most = Infinity) {
  const names = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
  const characters = [...text];
  const kept = characters.length > most ? `${characters.slice(0, most - 1).join("")}…` : text;
  return kept.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0);
    const [letter, digits] = code < 256 ? ["x", 2] : code < 65536 ? ["u", 4] : ["U", 8];
    return names[character] ?? `\\${letter}${code.toString(16).padStart(digits, "0")}`;
  });
}

// ---------------------------------------------------------------- arithmetic

export const sum = (values) => values.reduce((total, x) => total + x, 0);
export const dot = (a, b) => sum(a.map((x, i) => x * b[i]));

/** Return the softmax of a row of scores; a score of -Infinity gets weight 0. */
export function softmax(scores) {
  const highest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - highest));
  const total = sum(powers);
  return powers.map((power) => power / total);
}

/** Read the tables that Python sent as float32 bytes, with the shapes [[name, [rows, columns] or [n]], …].
 * The last axis is a Float32Array, the others are arrays. */
export function float32Tables(data, shapes) {
  const all = new Float32Array(data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength));
  let at = 0;
  const cut = ([n, ...rest]) =>
    (rest.length ? Array.from({ length: n }, () => cut(rest)) : all.subarray(at, (at += n)));
  return Object.fromEntries(shapes.map(([name, shape]) => [name, cut(shape)]));
}

/** Apply torch's Linear to a vector: `weight` has a row for each output. */
export function affine(weight, x, bias) {
  const found = new Float64Array(weight.length);
  for (let i = 0; i < weight.length; i++) {
    const row = weight[i];
    let total = bias ? bias[i] : 0;
    for (let j = 0; j < x.length; j++) total += row[j] * x[j];
    found[i] = total;
  }
  return found;
}

/** Apply a layer norm to a vector. */
export function rescaled(x, weight, bias, eps) {
  const mean = sum(x) / x.length;
  const variance = sum(x.map((value) => (value - mean) ** 2)) / x.length;
  return x.map((value, i) => ((value - mean) / Math.sqrt(variance + eps)) * weight[i] + bias[i]);
}

/** Return the entropy in nats; 0 · log 0 is 0. */
export const entropy = (weights) => -sum(weights.map((w) => (w > 0 ? w * Math.log(w) : 0)));

// ---------------------------------------------------------------- theme

function isDark(node) {
  for (let at = node; at; at = at.parentElement) {
    const parts = getComputedStyle(at).backgroundColor.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
    if ((parts[3] ?? 1) > 0.5) return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2] < 128;
  }
  return false;
}

function followTheme(root) {
  const follow = () => { root.dataset.theme = isDark(root.parentElement) ? "dark" : "light"; };
  const watcher = new MutationObserver(() => requestAnimationFrame(follow));
  for (const node of [document.documentElement, document.body])
    watcher.observe(node, { attributes: true, attributeFilter: ["class", "style", "data-theme", "data-jp-theme-light"] });
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", follow);
  requestAnimationFrame(follow);
  follow();
  return () => { watcher.disconnect(); system.removeEventListener("change", follow); };
}

// ---------------------------------------------------------------- page and explorer

/** Create a kind's module: `build(ui)` fills `ui.root`, and may return a function to call when the page is removed.
 * `name` says to a screen reader what the page shows.
 *
 * `ui` has `root`, `start` (never changes), `state` (a copy), `data`, `keep()` (stores `ui.state`, also in the saved
 * notebook), `tell(message)` (sends to the kernel, and returns whether that worked), `announce(text)` (for screen
 * readers), `announceAtRest(text)` (when the learner pauses, not at each step of a slider), `onChange(f)` (calls f when
 * another tab has changed `ui.state`), and `reading`: whether this page belongs to the book, which has no kernel.
 */
export function page(build, name) {
  return {
    render({ model, el }) {
      const root = element("div", { class: "coginst", role: "group", "aria-label": name, onkeydown: keepKey });
      const spoken = element("div", { class: "unseen", role: "status" });
      let pause;
      el.append(root);
      const ui = {
        root,
        model,
        start: model.get("start"),
        state: structuredClone(model.get("state")),
        data: model.get("data"),
        reading: model.get("reading") === true,
        keep() {
          model.set("state", structuredClone(ui.state));
          attempt(() => model.save_changes());
        },
        onChange: (follow) => model.on("change:state", () => {
          if (JSON.stringify(model.get("state")) === JSON.stringify(ui.state)) return;
          ui.state = structuredClone(model.get("state"));
          follow();
        }),
        tell: (message) => attempt(() => model.send(message)),
        announce(text) {
          clearTimeout(pause);
          spoken.textContent = text;
        },
        announceAtRest(text) {
          clearTimeout(pause);
          pause = setTimeout(() => { if (spoken.textContent !== text) spoken.textContent = text; }, REST);
        },
      };
      const forget = followTheme(root);
      const leave = build(ui);
      spoken.textContent = ""; // only what happens later is announced, not the answers of a saved notebook
      root.append(spoken);
      return () => {
        clearTimeout(pause);
        forget();
        leave?.();
      };
    },
  };
}

/** Hide keys from JupyterLab, whose shortcuts delete or leave a cell; Ctrl and Cmd shortcuts still work. */
function keepKey(event) {
  if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
}

/** On a page of the book, make the boxes whose texts need a kernel read-only, and show a line that says so. */
export function onlyRead(ui, boxes, words) {
  if (!ui.reading) return;
  for (const box of boxes) box.readOnly = true;
  boxes.at(-1).closest(".row, label, textarea").after(element("div", { class: "legend" }, words));
}

function attempt(act) {
  try {
    act();
    return true;
  } catch {
    return false; // there is no kernel; the page works without it
  }
}

/** Create an explorer: controls, and below them numbers, a remark and a picture that follow the controls.
 *
 * name: what the explorer shows, for a screen reader
 * controls(start, ui) -> [{name, kind: "slider" | "choice" | "switch" | "button" | "text", label, …}]
 * numbers(start, state, data) -> the results, computed without a page; tests compare them with torch
 * say(start, state, numbers) -> {facts: {name: text}, remark, title}
 * longest(start) -> the longest remark: the page keeps room for it, so that the picture below does not move
 * draw(picture, start, state, numbers): appends to `picture.svg`, which is `picture.width` wide; returns its height
 *
 * `ui.root.coginst` has the latest `numbers` and `state`, and `set(name, value)`.
 */
export function explorer({ name: groupName, controls, numbers, say, draw, extra, longest = () => "" }) {
  return page((ui) => {
    const bar = element("div", { class: "row" });
    const facts = element("div", { class: "facts" });
    const remark = element("div", { class: "remark" });
    const room = element("div", { class: "room", "aria-hidden": "true" }, ...inline(longest(ui.start)));
    const svg = drawn("svg", { role: "img" });
    const holder = element("div", { class: "picture" }, svg);
    ui.root.classList.add("explorer");
    ui.root.append(bar, facts, element("div", { class: "steady" }, remark, room), holder);
    const shown = {};
    let [width, top, height] = [0, 0, 0]; // of the picture, which does not shrink while a control moves
    const resize = () => {
      [width, top, height] = [Math.max(260, Math.min(640, holder.clientWidth || 640)), 0, 0];
      ui.redraw();
    };

    ui.redraw = () => {
      const { start, state } = ui;
      for (const [name, control] of Object.entries(shown)) if (name in state) control.show(state[name]);
      const found = numbers(start, state, ui.data);
      const said = say(start, state, found);
      facts.replaceChildren(...Object.entries(said.facts).map(([name, value]) =>
        element("span", {}, `${name} `, element("b", {}, value))));
      remark.replaceChildren(...inline(said.remark));
      svg.replaceChildren();
      if (said.title) top = Math.max(top, heading(svg, said.title, width));
      const body = drawn("g", { transform: `translate(0 ${top})` });
      svg.append(body);
      height = Math.max(height, top + draw({ svg: body, width, ui }, start, state, found));
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      svg.setAttribute("width", width);
      svg.setAttribute("height", height);
      const numbered = Object.entries(said.facts).map((pair) => pair.join(" ")).join(", ");
      ui.said = `${numbered && `${numbered}. `}${unquoted(said.remark)}`;
      const values = [...body.querySelectorAll("desc")].map((part) => ` ${part.textContent}.`).join("");
      svg.setAttribute("aria-label", `${said.title ?? "Picture"}. ${ui.said}${values}`);
      ui.root.coginst.numbers = found;
    };
    /** Redraw after a control moved; `rests` if it was released. */
    ui.moved = (rests) => {
      ui.redraw();
      ui.announceAtRest(ui.said);
      if (rests) ui.keep();
    };
    ui.root.coginst = {
      state: ui.state,
      set(name, value) {
        ui.state[name] = value;
        shown[name]?.show(value);
        ui.moved(true);
      },
    };
    const wanted = controls(ui.start, ui);
    const captions = wanted.filter(({ kind }) => kind === "slider" || kind === "choice").map((control) => control.label);
    const widest = Math.max(0, ...captions.map((caption) => textWidth(caption, 14)));
    bar.style.setProperty("--caption", `${Math.ceil(widest)}px`); // aligns the sliders below each other
    for (const control of wanted) {
      shown[control.name] = MAKERS[control.kind](ui, control);
      bar.append(shown[control.name].node);
    }
    const leave = extra?.(ui);
    resize();
    let last = holder.clientWidth;
    const resized = new ResizeObserver(() => {
      if (holder.clientWidth !== last) { last = holder.clientWidth; resize(); }
    });
    resized.observe(holder);
    return () => { resized.disconnect(); leave?.(); };
  }, groupName);
}

// ---------------------------------------------------------------- controls

const MAKERS = {
  /** {label, min, max, step, written: value -> text} */
  slider: (ui, { written = short, ...control }) => slider(ui, control, (place) => place, (value) => value, written),
  /** {label, options: [[text, value], …]}: a slider over ordered options */
  choice(ui, { options, ...control }) {
    const placeOf = (value) => options.findIndex((option) => option[1] === value);
    const ends = { min: 0, max: options.length - 1, step: 1 };
    const written = (value) => options[placeOf(value)][0];
    return slider(ui, { ...control, ...ends }, (place) => options[place][1], placeOf, written);
  },
  /** {label} */
  switch(ui, { name, label: caption }) {
    const input = element("input", { type: "checkbox" });
    const show = (value) => { input.checked = value; };
    input.addEventListener("change", () => {
      ui.state[name] = input.checked;
      ui.moved(true);
    });
    show(ui.state[name]);
    return { node: element("label", {}, input, caption), show };
  },
  /** {label, press: () -> void, title}: the press may change `ui.state` */
  button(ui, { label: caption, press, main = false }) {
    const node = element("button", { type: "button", class: main ? "main" : "" }, caption);
    node.addEventListener("click", () => {
      press();
      ui.moved(true);
    });
    return { node, show() {} };
  },
  /** {label, placeholder, size} */
  text(ui, { name, label: caption, placeholder = "", size = 24 }) {
    const input = element("input", { type: "text", placeholder, size, "aria-label": caption, spellcheck: "false" });
    const show = (value) => { input.value = value; };
    input.addEventListener("input", () => {
      ui.state[name] = input.value;
      ui.moved(false);
    });
    input.addEventListener("change", () => ui.moved(true));
    show(ui.state[name]);
    return { node: element("label", {}, element("span", {}, caption), input), show };
  },
};

/** Create a slider. `valueAt` turns its position into the value in the state, and `placeOf` turns it back. */
function slider(ui, { name, label: caption, min, max, step }, valueAt, placeOf, written) {
  const input = element("input", { type: "range", min, max, step, "aria-label": caption });
  const shown = element("output", { "aria-hidden": "true" });
  const show = (value) => {
    input.value = placeOf(value);
    shown.textContent = written(value);
    input.setAttribute("aria-valuetext", written(value));
  };
  const places = [min, min + step, max - step, max];
  const widest = Math.max(47, ...places.map((place) => textWidth(written(valueAt(place)), 14)));
  shown.style.flexBasis = `${Math.ceil(widest)}px`; // a longer number must not shorten the slider
  const moved = (rests) => {
    ui.state[name] = valueAt(Number(input.value));
    ui.moved(rests); // also updates this slider
  };
  input.addEventListener("input", () => moved(false));
  input.addEventListener("change", () => moved(true));
  // A finger that scrolls the page first moves the slider that it touches; then the slider moves back.
  let before = null;
  input.addEventListener("pointerdown", () => { before = input.value; });
  input.addEventListener("pointercancel", () => {
    input.value = before;
    moved(true);
  });
  show(ui.state[name]);
  return { node: element("label", { class: "slider" }, element("span", {}, caption), input, shown), show };
}

const SURE = ["guessing", "fairly sure", "certain"];

/** Return a name that no other element of the page has. */
export const unusedName = (prefix) => `${prefix}-${Math.random().toString(36).slice(2)}`;

/** Ask how sure the learner is: {node, value(), show(), settle()}. `show` reads `ui.state.sure`; the value is "" until
 * the learner chooses one. */
export function sureness(ui) {
  const name = unusedName("sure");
  const radios = SURE.map((value) => element("input", { type: "radio", name, value }));
  const labels = radios.map((radio) => element("label", {}, radio, radio.value));
  const node = element("div", { class: "sure", role: "radiogroup", "aria-label": "How sure are you?" }, "I am ", ...labels);
  return {
    node,
    value: () => radios.find((radio) => radio.checked)?.value ?? "",
    show() { radios.forEach((radio) => { radio.checked = radio.value === ui.state.sure; }); },
    settle() { radios.forEach((radio) => { radio.disabled = !radio.checked; }); },
  };
}

// ---------------------------------------------------------------- tokens

/** Show tokens `[[text, id, class], …]` as coloured chips in `holder`; unchanged chips are kept. */
export function chips(holder, tokens) {
  holder.setAttribute("role", "group");
  holder.setAttribute("aria-label", "tokens, each with its id");
  const wanted = tokens.map(([text, id, mark = ""]) => `${text} ${id} ${mark}`);
  const were = holder.chips ?? [];
  const longest = Math.min(wanted.length, were.length);
  let front = 0;
  while (front < longest && wanted[front] === were[front]) front += 1;
  let back = 0;
  while (back < longest - front && wanted.at(-1 - back) === were.at(-1 - back)) back += 1;
  for (let i = were.length - back - 1; i >= front; i -= 1) holder.children[i].remove();
  const next = holder.children[front];
  const all = document.createDocumentFragment();
  let before = holder.children[front - 1]?.dataset.tint;
  tokens.slice(front, tokens.length - back).forEach(([text, id, mark = ""], i, { length }) => {
    const after = i === length - 1 ? next?.dataset.tint : undefined;
    before = tintBetween(before, after);
    const shown = text.length > 60 ? `${text.slice(0, 59)}…` : text;
    all.append(element("span", { class: `chip ${mark}`, "data-tint": before }, shown, element("small", {}, String(id))));
  });
  holder.insertBefore(all, next ?? null);
  holder.chips = wanted;
}

/** Return the next of five colours that differs from both neighbours. */
function tintBetween(before = 4, after = -1) {
  const next = (Number(before) + 1) % 5;
  return next === Number(after) ? (next + 1) % 5 : next;
}

// ---------------------------------------------------------------- drawing

/** Write a text at a place: `label(svg, "key 0", 10, 20, {"text-anchor": "end"})`. */
export function label(svg, text, x, y, attributes = {}) {
  const made = drawn("text", { x, y, ...attributes }, text);
  svg.append(made);
  return made;
}

/** Add values to the picture's text alternative: describe(svg, "weights", ["a", "b"], ["0.4", "0.6"]). */
export function describe(svg, name, labels, values) {
  svg.append(drawn("desc", {}, `${name}: ${labels.map((text, i) => `${text} ${values[i]}`).join(", ")}`));
}

/** Write a text in as many lines as it needs, the first at `y`; return their number. */
export function lines(svg, text, y, width, { size = 13, weight = 400, step = 18, ...attributes } = {}) {
  const found = [[]];
  for (const word of text.split(" ")) {
    if (found.at(-1).length && textWidth([...found.at(-1), word].join(" "), size, weight) > width) found.push([]);
    found.at(-1).push(word);
  }
  found.forEach((words, i) => label(svg, words.join(" "), 0, y + step * i, attributes));
  return found.length;
}

/** Write a picture's title; return its height. */
function heading(svg, title, width) {
  const look = { size: 14, weight: 600, step: 19, class: "title", style: "font-size:14px" };
  return 19 * lines(svg, title, 15, width, look) + 8;
}

/** Draw rows of horizontal bars, one column for each group, below each other on a narrow page; return the height.
 *
 * groups: [{name, values, colour, colours (one for each row), written, ghosts, even, most}]; labels: one for each row
 * ghosts: values that are drawn as dashed outlines · even: 0 stays in the middle, whatever the signs of the values
 * most: the longest number that may occur; the columns keep room for it, so that they do not move
 * limit: the end of a column's scale (by default its largest value, or that of all groups if `sameScale`)
 * reference: {at, name}: a dashed line in the last column · shaded: rows in another colour
 * strong: rows whose labels are bold
 */
export function bars(picture, { groups, labels, limit, sameScale = false, reference, shaded = [], strong = [] }) {
  const { svg, width } = picture;
  const left = Math.min(width * 0.35, Math.max(...labels.map((text) => textWidth(text, 13, 700))) + 8);
  const gap = 22;
  const every = groups.flatMap((group) => group.values);
  const columns = groups.map((group) => {
    const written = group.written ?? ((x) => fixed(x));
    const values = sameScale ? every : group.values;
    const high = Math.max(limit ?? 0, ...values, ...(group.ghosts ?? []), 1e-12);
    const low = Math.min(0, ...values, sameScale && limit && Math.min(...values) < 0 ? -limit : 0);
    const far = Math.max(high, -low);
    const widths = group.values.map((x) => textWidth(written(x)));
    const longest = Math.max(...widths, "most" in group ? textWidth(written(group.most)) : 0);
    const ends = group.even ? { high: far, low: -far } : { high, low };
    return { written, widths, wide: longest + 6, signed: ends.low < 0 || group.most < 0, ...ends };
  });
  const taken = Math.max(...columns.map(({ signed, wide }) => (signed ? 2 * wide : wide))); // numbers beside bars
  const shared = (width - left - gap * (groups.length - 1)) / groups.length;
  const named = Math.max(...groups.map(({ name = "" }) => textWidth(name)));
  const stacked = groups.length > 1 && (shared - taken < 60 || shared < named);
  const room = stacked ? width - left : shared;
  const above = groups.length > 1 || groups[0].name ? 22 : 4;
  const row = 24;
  const block = above + row * labels.length;
  groups.forEach((group, g) => {
    const { written, widths, high, low, wide } = columns[g];
    const x0 = left + (stacked ? 0 : g * (room + gap));
    const top = above + (stacked ? g * (block + 8) : 0);
    const end = top + row * labels.length;
    const scale = (x) => (x / (high - low)) * Math.max(20, room - (low < 0 ? 2 * wide : wide));
    const zero = x0 + (low < 0 ? wide : 0) + scale(-low);
    describe(svg, group.name ?? "values", labels, group.values.map(written));
    if (group.name) label(svg, group.name, Math.max(0, Math.min(x0, width - named)), top - 9, { class: "muted" });
    svg.append(drawn("line", { x1: zero, x2: zero, y1: top, y2: end, stroke: "var(--faint)" }));
    const mark = reference && g === groups.length - 1 ? zero + scale(reference.at) : null;
    if (mark !== null) {
      svg.append(drawn("line", {
        x1: mark, x2: mark, y1: top, y2: end + 4, stroke: "var(--muted)", "stroke-dasharray": "4 3",
      }));
      label(svg, reference.name, mark, end + 18, { class: "muted", "text-anchor": "middle" });
    }
    group.values.forEach((value, i) => {
      const y = top + row * i;
      const colour = shaded.includes(i) ? "var(--vermilion)" : group.colours?.[i] ?? group.colour ?? SERIES[g];
      svg.append(drawn("rect", {
        x: Math.min(zero, zero + scale(value)), y: y + 4, width: Math.abs(scale(value)), height: row - 8, fill: colour,
      }));
      if (group.ghosts) {
        svg.append(drawn("rect", {
          x: zero, y: y + 4, width: scale(group.ghosts[i]), height: row - 8, fill: "none",
          stroke: "var(--muted)", "stroke-dasharray": "3 3",
        }));
      }
      const tip = zero + scale(Math.max(value, group.ghosts?.[i] ?? value));
      const crossed = mark !== null && tip < mark + 2 && mark < tip + 8 + widths[i]; // the line would cross the number
      const beside = value < 0 ? { x: tip - 5, anchor: "end" } : { x: (crossed ? mark : tip) + 5, anchor: "start" };
      label(svg, written(value), beside.x, y + 17, { "text-anchor": beside.anchor, class: "number" });
    });
    if (g && !stacked) return;
    labels.forEach((text, i) => {
      const shown = label(svg, text, left - 8, top + row * i + 17, {
        "text-anchor": "end", "font-weight": strong.includes(i) ? 700 : 400,
      });
      if (textWidth(text) > left - 8) shown.setAttribute("textLength", left - 8);
    });
  });
  return (stacked ? groups.length * (block + 8) - 8 : block) + (reference ? 24 : 4);
}

/** Draw an arrow from (x1, y1) to (x2, y2). */
export function arrow(svg, x1, y1, x2, y2, colour, width = 2.5) {
  const length = Math.hypot(x2 - x1, y2 - y1);
  const [ux, uy] = length ? [(x2 - x1) / length, (y2 - y1) / length] : [0, 0];
  const head = Math.min(11, length);
  const [bx, by] = [x2 - ux * head, y2 - uy * head];
  const side = head * 0.45;
  svg.append(
    drawn("line", { x1, y1, x2: bx, y2: by, stroke: colour, "stroke-width": width, "stroke-linecap": "round" }),
    drawn("path", { d: `M${x2} ${y2}L${bx - uy * side} ${by + ux * side}L${bx + uy * side} ${by - ux * side}Z`, fill: colour }),
  );
}

/** Draw a square part of the plane, `side` pixels wide, with axes through the origin; x and y go from `low` to `high`.
 *
 * Return `to([x, y])`, the pixels of a point, and `from({x, y})`, the point under a pixel.
 */
export function plane(svg, { left, top, side, low: [x0, y0], high: [x1, y1] }) {
  const unit = side / Math.max(x1 - x0, y1 - y0);
  const to = ([x, y]) => [left + (x - x0) * unit, top + (y1 - y) * unit];
  const [ox, oy] = to([0, 0]);
  const axis = { stroke: "var(--faint)", "stroke-width": 1 };
  svg.append(
    drawn("line", { x1: left, x2: left + side, y1: oy, y2: oy, ...axis }),
    drawn("line", { x1: ox, x2: ox, y1: top, y2: top + side, ...axis }),
  );
  return { unit, to, from: ({ x, y }) => [x0 + (x - left) / unit, y1 - (y - top) / unit] };
}

/** Add a round handle to an explorer's picture; dragging it calls `moved(place, rests)`.
 *
 * The picture may be redrawn meanwhile. Only a pointer can drag, so every value that a handle sets also needs a slider.
 * Instead of the circle, `grip` can be any shape of class draggable.
 */
export function handle(svg, x, y, moved, grip = drawn("circle", { cx: x, cy: y, r: 14, class: "draggable" })) {
  grip.addEventListener("pointerdown", (event) => {
    const frame = grip.ownerSVGElement;
    let last = { x, y };
    const follow = ({ clientX, clientY }) => {
      const body = frame.querySelector(":scope > g"); // every redraw creates a new one
      last = new DOMPoint(clientX, clientY).matrixTransform(body.getScreenCTM().inverse());
      moved(last, false);
    };
    const stop = () => {
      frame.removeEventListener("pointermove", follow);
      moved(last, true);
    };
    event.preventDefault();
    frame.setPointerCapture(event.pointerId);
    frame.addEventListener("pointermove", follow);
    frame.addEventListener("lostpointercapture", stop, { once: true });
  });
  // Dragging with a finger must not scroll the page. In Chrome, `touch-action` works only for the whole picture.
  grip.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  svg.append(grip);
}

/** Return Matplotlib's viridis at t in 0..1, interpolated between nine of its colours. */
export function viridis(t) {
  const at = Math.max(0, Math.min(1, t)) * (VIRIDIS.length - 1);
  const i = Math.min(VIRIDIS.length - 2, Math.floor(at));
  const mixed = VIRIDIS[i].map((c, k) => Math.round(c + (VIRIDIS[i + 1][k] - c) * (at - i)));
  return `rgb(${mixed.join(" ")})`;
}

/** Return black or white, whichever has more contrast on viridis at t. */
export const onViridis = (t) => (t < 0.49 ? "#ffffff" : "#000000");

const VIRIDIS = [
  [68, 1, 84], [72, 40, 120], [62, 73, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137], [53, 183, 121],
  [110, 206, 88], [253, 231, 37],
];

/** Draw the two axes of a line chart, with ticks and names; x and y are [low, high].
 *
 * Return {x, y: value -> place, toX, toY: place -> value, line: rows of [x, y] -> path, height}.
 */
export function lineAxes(picture, {
  x, y, xname, yname, high = 240, xticks = roundTicks(...x), yticks = roundTicks(...y),
}) {
  const { svg, width } = picture;
  const [left, top] = [Math.max(...yticks.map((value) => textWidth(short(value)))) + 10, 28];
  const right = Math.max(14, textWidth(short(xticks.at(-1))) / 2 + 4); // room for the last number
  const wide = width - left - right;
  const toX = (at) => x[0] + ((at - left) / wide) * (x[1] - x[0]);
  const toY = (at) => y[1] - ((at - top) / high) * (y[1] - y[0]);
  const placeX = (value) => left + ((value - x[0]) / (x[1] - x[0])) * wide;
  const placeY = (value) => top + ((y[1] - value) / (y[1] - y[0])) * high;
  for (const value of yticks) {
    const at = placeY(value);
    svg.append(drawn("line", { x1: left, x2: width - right, y1: at, y2: at, stroke: "var(--faint)", "stroke-width": 0.7 }));
    label(svg, short(value), left - 6, at + 4.5, { class: "muted", "text-anchor": "end" });
  }
  for (const value of xticks) {
    const at = placeX(value);
    svg.append(drawn("line", { x1: at, x2: at, y1: top + high, y2: top + high + 4, stroke: "var(--muted)" }));
    label(svg, short(value), at, top + high + 18, { class: "muted", "text-anchor": "middle" });
  }
  const base = placeY(Math.max(y[0], Math.min(0, y[1])));
  svg.append(drawn("line", { x1: left, x2: width - right, y1: base, y2: base, stroke: "var(--muted)" }));
  label(svg, yname, 0, 14, { class: "muted" });
  label(svg, xname, width - right, top + high + 38, { class: "muted", "text-anchor": "end" });
  const line = (rows) => rows.map(([a, b], i) => `${i ? "L" : "M"}${placeX(a).toFixed(1)} ${placeY(b).toFixed(1)}`).join("");
  return { x: placeX, y: placeY, toX, toY, line, height: top + high + 46 };
}

/** Return four to eight round numbers from `low` to `high`. */
function roundTicks(low, high) {
  const raw = (high - low) / 5;
  const ten = 10 ** Math.floor(Math.log10(raw));
  const step = ten * [1, 2, 2.5, 5, 10].find((times) => times * ten >= raw * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, i) => (first + i) * step);
}
