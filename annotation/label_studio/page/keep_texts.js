// Keeps what people type. By itself, the page keeps a text only after Shift+Enter in its box. Here it takes a text up
// after a pause in typing and when its box is left, as if by Shift+Enter, and saves a draft at once. Leaving with
// unsaved text warns. Ctrl+Enter submits inside a box too; it and a skip wait for the draft, which would outlive them.
// `Htx` is the page's own name for the open form.
(() => {
  const PAUSE_MS = 1000;
  const SHIFT_ENTER = { key: "Enter", shiftKey: true, bubbles: true, cancelable: true };
  const isBox = (element) => element instanceof HTMLTextAreaElement && element.closest(".form-asked") !== null;
  const open = () => window.Htx?.annotationStore?.selected;

  let box = null; // the one whose text the page has not taken up
  let unsaved = null; // the open annotation, while a draft lacks text of it
  let changes = 0;
  let timer;
  let saving = Promise.resolve();
  let sending = false;

  function takeUp() {
    clearTimeout(timer);
    const [typed, focused] = [box, document.activeElement];
    box = null;
    if (!typed?.isConnected) return;
    const [name, caret] = [typed.name.split(":")[0], [typed.selectionStart, typed.selectionEnd]];
    typed.dispatchEvent(new KeyboardEvent("keydown", SHIFT_ENTER));
    if (typed.value.trim() === "") open().names.get(name).regions[0]?.deleteRegion(); // empty, it would pass as written
    // A box with a text that is taken up is another one than an empty box, and appears with the focus.
    const now = document.querySelector(`.form-asked textarea[name="${name}"], .form-asked textarea[name^="${name}:"]`);
    (focused === typed ? now : focused).focus({ preventScroll: true });
    now.setSelectionRange(...caret);
    dispatchEvent(new Event("text-taken-up")); // `check_texts.js` asks what is wrong with it
  }

  async function send() {
    const annotation = unsaved;
    if (annotation === null || annotation !== open()) return;
    await Htx.waitForDraftSubmission(); // the page's own, of choices
    const upTo = changes;
    annotation.autosave?.cancel();
    annotation.addVersions({ draft: annotation.serializeAnnotation({ fast: true }) });
    annotation.setDraftSaving(true); // a submit waits for it
    sending = true;
    const answer = await Htx.events.invokeFirst("submitDraft", Htx, annotation).catch(() => null);
    sending = false;
    annotation.setDraftSaving(false);
    if (answer?.id !== undefined && upTo === changes) unsaved = null;
  }

  function save() {
    takeUp();
    if (unsaved !== null) saving = saving.then(send, send);
    return saving;
  }

  function typed({ target, isComposing }) {
    if (!isBox(target)) return;
    if (box !== target) takeUp();
    box = target;
    unsaved = open();
    changes += 1;
    clearTimeout(timer);
    if (!isComposing) timer = setTimeout(save, PAUSE_MS);
  }

  document.documentElement.classList.add("keeps-texts"); // for what the form and the guideline say
  addEventListener("input", typed, true);
  addEventListener("compositionend", typed, true);
  addEventListener("pointerdown", ({ target }) => target === box || save(), true);
  addEventListener("popstate", save, true);
  addEventListener("keydown", (event) => {
    if (!isBox(event.target)) return;
    if (event.key === "Tab") save();
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    event.stopPropagation();
    save().then(() => document.body.dispatchEvent(new KeyboardEvent("keydown", event))); // as if outside a box
    document.activeElement.blur();
  }, true);
  addEventListener("click", (event) => {
    const skip = event.target.closest("[data-testid=bottombar-skip-button]");
    if (skip === null || unsaved === null || !event.isTrusted) return;
    event.stopPropagation();
    save().then(() => skip.click());
  }, true);
  // After a draft of its own that the server did not take, the page would wait for it for ever, and submit nothing.
  addEventListener("unhandledrejection", () => sending || open()?.setDraftSaving(false));
  addEventListener("beforeunload", (event) => {
    save();
    if (unsaved !== null && unsaved === open()) event.preventDefault();
  });
})();
