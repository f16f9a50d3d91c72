// Saves motions of the hand. The start page, which is the server's own and no part of the page's program, is loaded.
(() => {
  const isBox = (element) => element instanceof HTMLTextAreaElement || element instanceof HTMLInputElement && element.type === "text";
  const isOver = () => document.querySelector(".ant-result-success") !== null; // no more tasks
  const START = "/";

  addEventListener("click", (event) => {
    if (event.target.closest?.(`a[href="${START}"]`) === null || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    location.assign(START);
  }, true);
  addEventListener("keydown", (event) => {
    if (!isOver() || isBox(event.target)) return;
    if (event.key === "Enter") location.assign(START);
    if (event.key === "Backspace") document.querySelector("[aria-label='Previous task']")?.click();
  }, true);
})();
