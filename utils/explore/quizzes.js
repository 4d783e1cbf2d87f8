import { element, inline, page, sureness, unquoted, unusedName } from "../show/page.js";

export default page((ui) => {
  const { question, choices } = ui.start; // [{choice, explanation, right}, …]
  const sure = sureness(ui);
  const rows = choices.map(({ choice, explanation, right }, i) => {
    const letter = "ABCDEFGH"[i];
    const told = element("div", { class: "note", id: unusedName("note") });
    const button = element("button", { type: "button", class: "choice", "aria-describedby": told.id },
      element("b", {}, letter), element("span", {}, ...inline(choice)));
    const tell = () => {
      told.className = `note ${right ? "passed" : "failed"}`;
      told.replaceChildren(element("b", {}, right ? "Right. " : "Not this one. "), ...inline(explanation));
      button.setAttribute("aria-pressed", "true");
      return told.textContent;
    };
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => {
      ui.announce(tell());
      if (ui.state.chosen.includes(choice)) return;
      const first = ui.state.chosen.length === 0;
      ui.state.chosen.push(choice);
      if (first) {
        ui.state.sure = sure.value();
        sure.settle();
        ui.tell({ event: "answered", right, sure: ui.state.sure, said: choice });
      }
      ui.keep();
    });
    return { node: element("div", {}, button, told), show: () => ui.state.chosen.includes(choice) && tell() };
  });
  const show = () => {
    sure.show();
    rows.forEach((row) => row.show());
    if (ui.state.chosen.length) sure.settle();
  };
  ui.onChange(show);
  show();
  const group = element("div", { role: "group", "aria-label": unquoted(question) }, ...rows.map(({ node }) => node));
  ui.root.append(element("div", {}, element("b", {}, ...inline(question))), element("div", { class: "row" }, sure.node), group);
}, "Quiz");
