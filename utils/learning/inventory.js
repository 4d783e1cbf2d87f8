import { element, inline, page, unquoted } from "../show/page.js";

const MOST = 10; // minutes that count for one visit to an item: a learner who goes away does not think about the item

/** Return the question of an item and its code, whose lines are numbered. */
function question(item) {
  const code = item.code.map((line) => element("li", {}, element("code", {}, line)));
  return element("div", {}, element("p", {}, ...inline(item.question)), ...(code.length ? [element("ol", { class: "code" }, ...code)] : []));
}

const count = (place, items) => element("div", { class: "legend" }, `Question ${place + 1} of ${items.length}`);

/** Return an item as it looks, without controls. It keeps room, so that the buttons do not move. */
function outline(item, place, items) {
  const options = item.choices.map((text) => element("div", { class: "option" }, element("i", {}), element("span", {}, ...inline(text))));
  return element("div", {}, count(place, items), question(item), ...options);
}

export default page((ui) => {
  const { title, items, minutes } = ui.start; // items: [{id, question, code, choices}, …]
  const name = `inventory-${Math.random().toString(36).slice(2)}`; // of the radio buttons
  const heading = element("div", {}, element("b", {}, title));
  const panel = element("div", {});
  const room = element("div", { class: "room", "aria-hidden": "true" }, ...items.map(outline));
  const note = element("div", { class: "note todo" });
  const buttons = element("div", { class: "row" });
  ui.root.append(heading, element("div", { class: "steady stacked" }, panel, room), buttons, note);

  // -------------------------------------------------------------- time and storage

  let since = performance.now();
  /** Add the time since the last call to the item that is shown. Time with the page hidden does not count. */
  const settleTime = () => {
    const item = items[ui.state.place];
    const spent = Math.min((performance.now() - since) / 60_000, MOST);
    since = performance.now();
    if (item) ui.state.minutes[item.id] = (ui.state.minutes[item.id] ?? 0) + spent;
  };
  const store = (done = false) => {
    ui.keep();
    return ui.tell({ event: "chosen", chosen: ui.state.chosen, minutes: ui.state.minutes, done });
  };
  const remember = (item, choice) => {
    settleTime();
    ui.state.chosen[item.id] = choice;
    say("");
    store();
  };
  const say = (text) => {
    note.textContent = text;
    if (text) ui.announce(text);
  };

  // -------------------------------------------------------------- moving between the items

  const goTo = (place) => {
    settleTime();
    ui.state.place = place;
    ui.keep();
    show();
    panel.focus();
  };
  const following = () => (ui.state.place + 1 < items.length ? ui.state.place + 1 : "review");
  const next = () => {
    if (items[ui.state.place].id in ui.state.chosen) goTo(following());
    else say("Choose an answer, or press Skip.");
  };
  const skip = () => {
    remember(items[ui.state.place], -1);
    goTo(following());
  };
  const back = () => {
    if (ui.state.place === "review") goTo(items.length - 1);
    else if (ui.state.place > 0) goTo(ui.state.place - 1);
  };
  const finish = () => {
    const sent = store(true);
    say(sent ? "Your answers are being scored. If no score appears, run this cell again: your answers are stored."
      : "The score needs a kernel. Run this cell again, and continue where you are.");
  };
  const begin = () => {
    const open = items.findIndex(({ id }) => !(id in ui.state.chosen));
    goTo(open < 0 ? "review" : open);
  };

  // -------------------------------------------------------------- the panels

  const button = (caption, press, attributes = {}) => element("button", { type: "button", onclick: press, ...attributes }, caption);

  const showIntro = () => {
    const begun = Object.keys(ui.state.chosen).length > 0;
    const text = `${items.length} questions about attention. They take about ${minutes} minutes, and nothing stops you after that time. `
      + "Answer without looking anything up. If you do not know an answer, skip the question: a skip costs nothing, and a guess would make the result less useful. "
      + "No answer is judged before the end. The answers are stored on this computer only.";
    panel.replaceChildren(element("p", {}, text));
    buttons.replaceChildren(button(begun ? "Continue" : "Begin", begin, { class: "main" }));
  };
  const showItem = (place) => {
    const item = items[place];
    const radios = item.choices.map((_, choice) => element("input", {
      type: "radio", name, checked: ui.state.chosen[item.id] === choice, onchange: () => remember(item, choice),
    }));
    const options = item.choices.map((text, choice) => element("label", { class: "option" }, radios[choice], element("span", {}, ...inline(text))));
    panel.replaceChildren(count(place, items), question(item),
      element("div", { role: "radiogroup", "aria-label": unquoted(item.question) }, ...options));
    buttons.replaceChildren(button("Back", back, { "aria-disabled": place === 0 && "true" }), button("Skip", skip), button("Next", next));
  };
  const showReview = () => {
    const state = ({ id }) => (!(id in ui.state.chosen) ? "open" : ui.state.chosen[id] < 0 ? "skipped" : "answered");
    const answered = items.filter((item) => state(item) === "answered").length;
    const all = items.map((item, place) => element("li", {}, button(`Question ${place + 1}: ${state(item)}`, () => goTo(place))));
    panel.replaceChildren(
      element("p", {}, `You have answered ${answered} of ${items.length} questions. You can change any answer now. After Finish, the answers stay as they are.`),
      element("ul", { class: "places" }, ...all), button("Finish", finish, { class: "main" }));
    buttons.replaceChildren(button("Back", back)); // Finish is not where Skip and Next were, so nobody presses it by accident
  };
  const showResult = ({ score, n, concepts, saved }) => {
    const why = concepts.length ? "" : "This page does not say which answers were right, because you get the same questions again four weeks after the course.";
    const lost = saved ? "" : "Your answers could not be stored, because the progress file cannot be written. Make room on the disk, and press Finish again.";
    const rows = concepts.map(([concept, right]) => element("li", {}, element("b", {}, right ? "✓ right: " : "✗ not right: "), concept));
    panel.replaceChildren(element("p", {}, element("b", {}, `${score} of ${n} answers were right. `), why, lost),
      ...(rows.length ? [element("ul", { class: "plain" }, ...rows)] : []));
    buttons.replaceChildren(...(saved ? [] : [button("Finish", finish, { class: "main" })]));
  };

  const show = () => {
    const { place, result } = ui.state;
    say("");
    const step = place in items ? `Question ${place + 1} of ${items.length}` : "Before you finish";
    const label = result ? "Result" : step;
    const roles = place === "intro" && !result ? {} : { role: "group", "aria-label": label, tabindex: -1 };
    for (const role of ["role", "aria-label", "tabindex"]) {
      if (role in roles) panel.setAttribute(role, roles[role]);
      else panel.removeAttribute(role);
    }
    if (result) showResult(result);
    else if (place in items) showItem(place);
    else if (place === "review") showReview();
    else showIntro();
  };
  const pause = () => {
    if (document.hidden) settleTime();
    else since = performance.now();
  };
  document.addEventListener("visibilitychange", pause);
  ui.onChange(() => {
    show();
    if (ui.state.result) {
      panel.focus();
      ui.announce(panel.textContent);
    }
  });
  show();
  return () => document.removeEventListener("visibilitychange", pause);
}, "Concept inventory");
