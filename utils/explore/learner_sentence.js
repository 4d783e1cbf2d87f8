import { element, inline, page } from "./page.js";

const PATIENCE = 3000; // ms that a kernel gets before the page says what else may be the matter
const LATE = "The kernel has not answered yet. It may be busy; if it is not, run this cell again.";
const ALONE = "Not kept: no kernel listens. Run this cell again, and then press Keep.";
const READING = "In JupyterLab you write a sentence of your own here, and lessons 02 to 05 show it beside theirs.";
const CHANGED = "Press Keep to see it in lessons 02 to 05.";

export default page((ui) => {
  if (ui.reading) {
    ui.root.append(element("div", { class: "note" }, READING));
    return undefined;
  }
  const input = element("input", {
    type: "text", placeholder: "for example: Mary likes the cat and Tom likes the dog", spellcheck: "false",
    "aria-label": "Your sentence", style: "flex:1 1 20em", maxlength: 200,
  });
  const button = element("button", { type: "button", class: "main" }, "Keep");
  const note = element("div", { class: "note" });
  ui.root.append(element("div", { class: "row" }, element("span", {}, "Your sentence"), input, button), note);
  input.value = ui.state.text;
  let patience;

  const tell = (text, aloud = true) => {
    clearTimeout(patience);
    note.replaceChildren(...inline(text));
    note.classList.toggle("passed", text.startsWith("Kept"));
    ui.state.told = text;
    if (aloud) ui.announce(text);
  };
  const ask = () => {
    ui.state.text = input.value;
    if (ui.tell({ text: input.value })) {
      tell("Asked the kernel to keep it …");
      patience = setTimeout(() => tell(LATE), PATIENCE);
    } else tell(ALONE);
    ui.keep();
  };
  const heard = (message) => {
    if (message.text !== ui.state.text) return; // an older one
    tell(message.told);
    ui.keep();
  };
  ui.model.on("msg:custom", heard);
  button.addEventListener("click", ask);
  input.addEventListener("input", () => {
    ui.state.text = input.value;
    tell(CHANGED, false);
  });
  input.addEventListener("keydown", (event) => {
    event.stopPropagation(); // Lab takes keys for itself
    if (event.key === "Enter") ask();
  });
  ui.root.coginst = { state: ui.state };
  if (ui.state.told) tell(ui.state.told, false);
  return () => {
    clearTimeout(patience);
    ui.model.off("msg:custom", heard);
  };
});
