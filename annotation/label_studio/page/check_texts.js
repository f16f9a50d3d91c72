// Says below its box what is wrong with a text, while it is written. `keep_texts.js` tells when a text was taken up.
(() => {
  const linesOf = () => document.querySelectorAll(".text-problem");
  const boxOf = (name) => document.querySelector(`.form-asked textarea[name="${name}"], .form-asked textarea[name^="${name}:"]`);
  const SAYS = { returned: "This would come back: {}", warned: "The reviewer will be told: {}" }; // or as the form says it
  const say = (name, problem) =>
    (document.querySelector(`.form-says-${name}`)?.textContent ?? SAYS[name]).replace("{}", () => problem);
  let asking = new AbortController();

  function show(problems) {
    linesOf().forEach((line) => line.remove());
    for (const { name, problem, rejects } of problems) {
      const line = document.createElement("p");
      line.className = rejects ? "text-problem rejects" : "text-problem";
      line.setAttribute("role", "status");
      line.textContent = say(rejects ? "returned" : "warned", problem);
      boxOf(name)?.closest(".form-block")?.append(line);
    }
  }

  async function check() {
    asking.abort();
    asking = new AbortController();
    const [annotation, task, signal] = [Htx.annotationStore.selected, Htx.task.id, asking.signal];
    const body = JSON.stringify(annotation.serializeAnnotation({ fast: true }));
    const answer = await fetch(`/check-texts/${task}`, { method: "POST", body, signal }).catch(() => null);
    const problems = answer?.status === 200 ? await answer.json().catch(() => []) : [];
    if (!signal.aborted && Htx.annotationStore.selected === annotation) show(problems);
  }

  addEventListener("text-taken-up", check);
})();
