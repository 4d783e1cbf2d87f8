import { element, inline, page } from "../show/page.js";

const PATIENCE = 3000; // milliseconds after which the page says that the kernel has not answered
const LATE = "The kernel has not answered yet. It may be busy; if it is not, run this cell again.";
const ALONE = "Not kept: no kernel is connected. Run this cell again, then press Keep.";
const READING = "In JupyterLab, you can write your own sentence here, and lessons 02 to 05 show it next to theirs.";
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
      tell("Waiting for the kernel to keep your sentence …");
      patience = setTimeout(() => tell(LATE), PATIENCE);
    } else tell(ALONE);
    ui.keep();
  };
  const heard = (message) => {
    if (message.text !== ui.state.text) return; // an answer to an earlier sentence
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
    event.stopPropagation(); // otherwise JupyterLab takes the keys as shortcuts
    if (event.key === "Enter") ask();
  });
  ui.root.coginst = { state: ui.state };
  if (ui.state.told) tell(ui.state.told, false);
  return () => {
    clearTimeout(patience);
    ui.model.off("msg:custom", heard);
  };
}, "Your sentence");
