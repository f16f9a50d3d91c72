// Saves motions of the hand on the page of tasks; `keep_texts.js` comes before it.
//
// - The last answer submits by itself after a moment, if it is chosen by a key and nothing is left to write. Escape
//   stops it, Backspace takes the answer back, another key changes it. Enter outside a box submits at once.
// - Backspace outside a box goes back to the task before. There, a changed answer is submitted and leads on again.
// - When the answers leave something to write, the cursor goes to the first box; Tab goes from box to box, and selects
//   a suggestion, so that typing replaces it. The up arrow in an empty box brings the suggestion back.
// - The key of "all parts at once" answers the rest of the questions, if some are answered.
// - The answer after which words are to be marked chooses the mark. The arrows choose a word, with Shift several, and
//   Enter marks them.
// - Enter closes the guideline, and leads from an empty queue to the start page, which is the server's own.
//
// All is done within the event of a key, on the page's own model of the form, which draws it at once: the next key finds
// the cursor in its box, however busy the machine is. Keys that come while a task is being left act on none.
(() => {
  const MOMENT_MS = 700;
  const LEAVING_MS = 5000; // the longest that a task is thought to be on its way out
  const LEADING_MS = 30000; // the longest that a task is waited for that is submitted again
  const START = "/";
  const SUBMITS = "Submits · Esc keeps the task open, Backspace takes the answer back"; // unless the form says it itself
  const [QUESTION, FOR_ALL] = ["question-to-engineer", "for-all"];
  const all = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.offsetParent !== null);
  const isTyping = ({ target }) => target.matches?.("textarea, input:not([type=radio]):not([type=checkbox]), [contenteditable=true]");
  const isOver = () => all(".ant-result-success").length > 0; // no more tasks
  const isStream = () => new URLSearchParams(location.search).has("labeling");
  const isDialog = () => all(".ant-modal-confirm, [class*=modal-ls]").length > 0;
  const open = () => window.Htx?.annotationStore?.selected;

  // ---- what is answered ----

  const controls = (type) => [...open().names.values()].filter((one) => one.type === type && one.isVisible !== false);
  const forAll = () => controls("choices").find((one) => one.name === FOR_ALL);
  const asked = () => controls("choices").filter((one) => one.name !== FOR_ALL);
  const chosen = (question) => question.selectedLabels[0];
  const isAnswered = () => controls("choices").some(chosen) && asked().every(chosen);

  // Some options have a hint, which says what is to be done next.
  const isMore = () => asked().some((question) => chosen(question)?.hint);
  const label = () => controls("labels")[0]?.tiedChildren[0];

  function toWrite() {
    const accept = forAll()?.tiedChildren[0].alias;
    if (asked().every((question) => chosen(question)?.alias === accept)) return undefined;
    const places = boxes();
    return places.find((box) => nameOf(box) !== QUESTION) ?? (isMore() && !label() ? places.at(-1) : undefined);
  }

  function choose(choice) {
    if (!choice.sel || choice.parent.name === FOR_ALL) choice.toggleSelected();
  }

  function restored() { // what makes the answers again what they are now
    const before = controls("choices").map((question) => [question, [...question.selectedLabels]]);
    return () => before.forEach(([question, choices]) => {
      question.resetSelected();
      choices.forEach((choice) => choice.setSelected(true));
      question.updateResult();
    });
  }

  function answered(byKey) {
    if (!isAnswered()) return;
    const box = toWrite();
    if (box !== undefined) enter(box);
    else if (isMore()) label()?.selected || label()?.toggleSelected();
    else if (byKey && isStream()) wait();
  }

  // ---- the last answer submits ----

  let timer;
  let leading;
  let left; // the annotation that is on its way out
  const notice = document.createElement("div");
  notice.className = "submits";
  notice.setAttribute("role", "status");
  document.body.append(notice);
  const isWaiting = () => notice.textContent !== "";
  const isLeaving = () => window.Htx?.isSubmitting || (left !== undefined && left === open());

  function wait() {
    const annotation = open();
    notice.textContent = document.querySelector(".form-says-submits")?.textContent ?? SUBMITS;
    timer = setTimeout(() => {
      stay();
      if (annotation === open() && !isTyping({ target: document.activeElement })) submit();
    }, MOMENT_MS);
  }

  function stay() {
    clearTimeout(timer);
    notice.textContent = "";
  }

  function leave() {
    const annotation = open();
    left = annotation;
    setTimeout(() => left === annotation && (left = undefined), LEAVING_MS);
  }

  function submit() { // as the page's own key does
    const enter = { key: "Enter", keyCode: 13, ctrlKey: true, bubbles: true, cancelable: true };
    document.body.dispatchEvent(new KeyboardEvent("keydown", enter));
  }

  function submitted() {
    left = undefined;
    if (!Htx.isSubmitting) return; // something is missing, and the page says so
    leave();
    clearTimeout(leading);
    if (isStream() && open().pk) leadOn(open(), Htx.task.id, performance.now() + LEADING_MS);
  }

  function leadOn(annotation, task, until) { // the page stays at a task that was submitted before, and loads it again
    if (Htx.task?.id !== task || performance.now() > until) return;
    if (annotation === open() || Htx.isSubmitting || Htx.isLoading) {
      leading = setTimeout(() => leadOn(annotation, task, until), 100);
      return;
    }
    const next = document.querySelector("[data-testid=next-task]:not([disabled])");
    if (next?.ariaLabel !== "Postpone task") go(next);
  }

  function go(button) {
    if (!button) return;
    clearTimeout(leading);
    leave();
    button.click();
  }

  // ---- from box to box ----

  const boxes = () => all(".form-asked textarea");
  const nameOf = (box) => box.name.split(":")[0];
  // By its name: when its text is taken up, a box leaves the page.
  const isBox = (element) => element.matches("textarea") && Boolean(open()?.names.has(nameOf(element)));
  const suggestion = (box) => {
    const data = window.Htx?.task?.dataObj ?? {};
    // Its note begins like `SUGGESTED`, in the language of the form.
    return /^(suggested|程序的建议)/.test(data[`note_${nameOf(box)}`]) ? data[`draft_${nameOf(box)}`] ?? "" : "";
  };

  function enter(box) {
    box.focus();
    if (box.value !== "" && box.value === suggestion(box)) box.select();
    else box.setSelectionRange(box.value.length, box.value.length);
  }

  function tab(event) {
    const places = boxes();
    const next = places[places.indexOf(document.activeElement) + (event.shiftKey ? -1 : 1)];
    if (next === undefined) return;
    event.preventDefault();
    enter(next);
  }

  function suggestAgain(event) {
    const box = document.activeElement;
    if (box.value !== "" || suggestion(box) === "") return;
    event.preventDefault();
    document.execCommand("insertText", false, suggestion(box)); // as if it were typed
  }

  // ---- marking words ----

  let words = {}; // the places of the first and the last selected word of a task

  function selectWords(event) {
    const marked = document.querySelector(".form-shown .lsf-label_selected");
    const text = marked?.closest(".form-block, .form-long").querySelector(".lsf-richtext__container");
    if (!text || !["ArrowRight", "ArrowLeft", "Enter"].includes(event.key)) return false;
    if (words.task !== window.Htx.task.id) words = { from: -1, to: -1 };
    if (event.key === "Enter") {
      if (words.from < 0) return false;
      text.dispatchEvent(new MouseEvent("mouseup", { bubbles: true }));
      return true;
    }
    const places = [...new Intl.Segmenter(undefined, { granularity: "word" }).segment(text.textContent)].filter((one) => one.isWordLike);
    const to = Math.min(Math.max(words.to + (event.key === "ArrowRight" ? 1 : -1), 0), places.length - 1);
    words = { task: window.Htx.task.id, from: event.shiftKey && words.from >= 0 ? Math.min(words.from, to) : to, to };
    const last = places[to];
    getSelection().setBaseAndExtent(...pointAt(text, places[words.from].index), ...pointAt(text, last.index + last.segment.length));
    return true;
  }

  function pointAt(text, place) { // the node and the offset in it of a character of the text
    const nodes = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
    for (let left = place; nodes.nextNode(); left -= nodes.currentNode.length)
      if (left <= nodes.currentNode.length) return [nodes.currentNode, left];
    return [text, 0];
  }

  // ---- keys ----

  let takeBack = () => {};

  // The page's own keys are those of the keyboard's letters and digits, with or without a number pad.
  function choiceOf({ keyCode, shiftKey }) {
    const key = String.fromCharCode(keyCode >= 96 && keyCode <= 105 ? keyCode - 48 : keyCode);
    if (shiftKey) return undefined;
    return controls("choices").flatMap((one) => one.tiedChildren).find((choice) => choice.hotkey?.toUpperCase() === key);
  }

  function answer(choice) {
    takeBack = restored();
    const rest = asked().filter((question) => !chosen(question));
    if (choice.parent.name === FOR_ALL && !choice.sel && rest.length < asked().length)
      rest.forEach((question) => choose(question.findLabel(choice.alias)));
    else choose(choice);
    answered(true);
  }

  function stop(event) {
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  function pressedOver(event) {
    if (event.key === "Enter") location.assign(START);
    if (event.key === "Backspace") document.querySelector("[aria-label='Previous task']")?.click();
  }

  function pressedInForm(event) {
    const [choice, wasWaiting] = [choiceOf(event), isWaiting()];
    stay();
    if (isLeaving() || (event.repeat && !event.key.startsWith("Arrow"))) return stop(event);
    if (choice !== undefined) {
      stop(event);
      answer(choice);
    } else if (event.target.matches?.("button, a")) {
      return; // which has keys of its own
    } else if (selectWords(event)) {
      stop(event);
    } else if (event.key === "Enter" && controls("choices").some(chosen)) {
      stop(event);
      submit();
    } else if (event.key === "Backspace" && wasWaiting) {
      stop(event);
      takeBack();
    } else if (event.key === "Backspace" && isStream() && !open().highlightedNode && open().selectionSize === 0) {
      stop(event);
      go(document.querySelector("[data-testid=prev-task]:not([disabled])"));
    }
  }

  function pressed(event) {
    if (event.altKey) return stay();
    if (event.ctrlKey || event.metaKey) {
      stay();
      if (event.key === "Enter" && open() !== undefined) setTimeout(submitted); // once the page has heard it
    } else if (event.isTrusted) {
      if (isOver()) return event.repeat || pressedOver(event);
      const isGuideline = Boolean(document.querySelector(".guideline")?.offsetParent);
      if (isGuideline && event.key === "Enter" && !event.repeat)
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", keyCode: 27, bubbles: true }));
      if (!isGuideline && !isDialog() && open() !== undefined) pressedInForm(event);
    }
  }

  addEventListener("keydown", (event) => {
    if (!isTyping(event)) return pressed(event);
    stay();
    if (!isBox(event.target)) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) leave(); // `keep_texts.js` submits once it has saved
    if (event.key === "Tab") tab(event);
    if (event.key === "ArrowUp") suggestAgain(event);
  }, true);
  addEventListener("pointerdown", stay, true);
  addEventListener("click", ({ target }) => { // after it, the option has the focus
    if (target.matches?.(".form-asked .lsf-choices input")) setTimeout(() => answered(false));
  }, true);
  addEventListener("click", (event) => {
    if ((event.target.closest?.(`a[href="${START}"]`) ?? null) === null || event.ctrlKey || event.metaKey) return;
    stop(event);
    location.assign(START);
  }, true);
})();
