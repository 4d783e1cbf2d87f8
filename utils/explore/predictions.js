import { element, inline, page, short, sureness, unquoted } from "../show/page.js";

// ---------------------------------------------------------------- reading a guess

const YES = { true: true, yes: true, y: true, false: false, no: false, n: false };

/** Read a text as a guess of a kind; return null if that is not possible. A list should have as many numbers as the
 * right `answer`. */
export function readGuess(kind, text, answer) {
  if (kind === "bool") return YES[text.toLowerCase()] ?? null;
  if (kind === "number") return readNumber(text);
  if (kind === "numbers") return readNumbers(text, answer.length);
  return text || null;
}

/** Read "10", "50,257", "0.25", "0,25", "1/4", "25%" or "−inf"; return null for any other text, also for "nan". */
function readNumber(text) {
  const plain = text.replace(/−/g, "-").trim();
  const share = plain.endsWith("%");
  const [over, under, ...more] = plain.replace(/%+$/, "").split("/").map(toNumber);
  if (more.length) return null;
  const number = under === undefined ? over : over / under;
  return Number.isNaN(number) || under === 0 ? null : number / (share ? 100 : 1);
}

function toNumber(text) {
  const infinite = text.trim().match(/^([+-]?)(inf|infinity|∞)$/i);
  if (infinite) return infinite[1] === "-" ? -Infinity : Infinity;
  // A comma before groups of three digits separates thousands; a single comma elsewhere is a decimal comma.
  const inThousands = /^\s*[+-]?[1-9]\d{0,2}(,\d{3})+(?!\d)/.test(text);
  const plain = inThousands ? text.replace(/,/g, "") : text.replace(/^([^.,]*),([^,.]*)$/, "$1.$2");
  return /^\s*[+-]?(\d[\d_]*\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(plain) ? Number(plain.replace(/_/g, "")) : NaN;
}

/** Read "[6, 3]", "6 3", "6 × 3" or "torch.Size([6, 3])"; return null if there is a word or no number. If this does not
 * give `count` numbers, commas before groups of three digits may separate thousands, as in "14, 50,257". */
function readNumbers(text, count) {
  const read = (words) => words.replace("torch.Size", "").split(/[\s,;x×()[\]]+/).filter(Boolean).map(readNumber);
  const joined = read(text.replace(/(?<!\d)[1-9]\d{0,2}(,\d{3})+(?!\d)/g, (number) => number.replace(/,/g, "")));
  const plain = read(text);
  const parts = plain.length !== count && joined.length === count ? joined : plain;
  return parts.length && !parts.includes(null) ? parts : null;
}

// ---------------------------------------------------------------- judging a guess

/** Return {right, off}; off is the distance of an inexact number from the answer, if it is finite. */
export function judged(kind, given, answer, tolerance) {
  if (kind === "word") {
    const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean).join(" ");
    return { right: words(given) === words(answer) };
  }
  if (kind === "numbers") {
    const near = (x, i) => judged("number", x, number(answer[i]), tolerance).right;
    return { right: given.length === answer.length && given.every(near) };
  }
  if (kind === "bool" || given === number(answer)) return { right: given === number(answer) };
  const off = Math.abs(given - number(answer));
  return { right: off <= tolerance * (1 + 1e-9) + 1e-12, off: Number.isFinite(off) ? off : undefined };
}

/** Tell in which direction a wrong guess should change; return "" for an answer that is not made of numbers. */
export function direction(kind, given, answer, tolerance) {
  if (kind !== "number" && kind !== "numbers") return "";
  const [guesses, truths] = [[given].flat(), [answer].flat()];
  if (guesses.length !== truths.length) return `the answer has ${truths.length} number${truths.length === 1 ? "" : "s"}`;
  const i = guesses.findIndex((x, n) => !judged("number", x, truths[n], tolerance).right);
  const part = kind === "numbers" ? `number ${i + 1} of the answer` : "the answer";
  return `${part} is ${guesses[i] < number(truths[i]) ? "higher" : "lower"} than ${short(guesses[i])}`;
}

/** JSON has no infinities, so Python sends "inf" and "-inf". */
const number = (value) => (value === "inf" ? Infinity : value === "-inf" ? -Infinity : value);

// ---------------------------------------------------------------- the page

export default page((ui) => {
  const { question, kind, wanted, answer, written, tolerance, explain } = ui.start;
  const guess = element("input", {
    type: "text", size: Math.max(18, wanted.length + 12), placeholder: `your guess: ${wanted}`, "aria-label": `Your guess: ${unquoted(question)}`,
    spellcheck: "false", autocomplete: "off",
  });
  const check = element("button", { type: "button", class: "main" }, "Check my guess");
  const showMe = element("button", { type: "button" }, "Show me");
  const sure = sureness(ui);
  const note = element("div", { class: "note" });
  const row = element("div", { class: "row" }, guess, sure.node, check, showMe);
  ui.root.append(element("div", {}, ...inline(question)), row, note);

  const say = (state, ...said) => {
    note.className = `note ${state}`;
    note.replaceChildren(...said);
    ui.announce(note.textContent);
  };
  const why = explain ? [element("br"), ...inline(explain)] : [];
  const together = (...parts) => element("span", { class: "together" }, ...parts);
  const truth = () => [together("The answer: ", element("b", {}, written)), " "];

  /** Show the direction of the answer after a wrong first guess. */
  const retry = () => {
    sure.settle();
    const hint = direction(kind, readGuess(kind, ui.state.first, answer), answer, tolerance);
    say("failed", `Not this time${hint && `: ${hint}`}. You have one more guess.`);
  };
  /** Show the result, and take no further guess. */
  const settle = () => {
    guess.readOnly = true;
    for (const part of [check, showMe]) part.setAttribute("aria-disabled", "true");
    sure.settle();
    if (ui.state.done === "shown") return say("todo", ...truth(), ...why);
    const { right, off } = judged(kind, readGuess(kind, ui.state.guess, answer), answer, tolerance);
    const apart = off === undefined ? [] : [together(`off by ${short(off, 3)}`)];
    const second = ui.state.first !== undefined;
    say(right ? "passed" : "failed", !right ? "Not this time. " : second ? "Right this time. " : "Right. ",
      together("Your guess: ", element("b", {}, ui.state.guess)), " ", ...truth(), ...apart, ...why);
    return undefined;
  };
  const finish = (done) => {
    ui.state.done = done;
    ui.keep();
    settle();
  };
  const judge = () => {
    if (ui.state.done) return;
    const text = guess.value.trim();
    const given = text ? readGuess(kind, text, answer) : null;
    if (given === null) {
      say("todo", text ? `Write ${wanted}.` : `Write ${wanted} first; a guess costs nothing.`);
      return;
    }
    if (text === ui.state.first) {
      retry();
      return;
    }
    const { right } = judged(kind, given, answer, tolerance);
    const first = ui.state.first === undefined;
    ui.state.guess = text;
    if (first) {
      ui.state.sure = sure.value();
      ui.tell({ event: "answered", right, sure: ui.state.sure, said: text });
    }
    if (right || !first || kind === "bool") {
      finish("guessed");
      return;
    }
    ui.state.first = text;
    ui.keep();
    retry();
  };
  check.addEventListener("click", judge);
  showMe.addEventListener("click", () => ui.state.done || finish("shown"));
  guess.addEventListener("keydown", (event) => {
    if (event.key === "Enter") judge();
  });
  const show = () => {
    guess.value = ui.state.guess ?? "";
    sure.show();
    if (ui.state.done) settle();
    else if (ui.state.first !== undefined) retry();
  };
  ui.onChange(show);
  show();
}, "Prediction");
