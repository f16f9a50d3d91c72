// Renews the board in place: filters, scroll, focus and what is unfolded stay as they are.
"use strict";

const EVERY_MS = 5000;
let tag = "";
let shown = address();

// The page's address without its fragment, which a server is never told.
function address() {
  return location.href.split("#")[0];
}

function openNow() {
  return new Set([...document.querySelectorAll("details[open][id]")].map((element) => element.id));
}

function show(text) {
  const next = new DOMParser().parseFromString(text, "text/html");
  const unfolded = openNow();
  for (const name of ["title", "read", "main"]) {
    const now = document.getElementById(name);
    const then = next.getElementById(name);
    if (now && then) {
      for (const element of then.querySelectorAll("details[id]")) {
        element.open = unfolded.has(element.id);
      }
      const tables = [...now.querySelectorAll(".scroll")].map((element) => element.scrollLeft);
      now.replaceChildren(...then.childNodes);
      [...now.querySelectorAll(".scroll")].forEach((element, place) => { element.scrollLeft = tables[place] || 0; });
    }
  }
  for (const select of document.querySelectorAll("#filters select")) {
    const chosen = select.value;
    const then = next.querySelector(`#filters select[name="${select.name}"]`);
    if (then && document.activeElement !== select) {
      select.replaceChildren(...then.childNodes);
      select.value = chosen;
    }
  }
  document.title = next.title;
}

async function renew() {
  const connection = document.getElementById("connection");
  try {
    const answer = await fetch(address(), { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
    if (answer.ok) {
      const text = await answer.text();
      if (answer.url === address()) {
        tag = answer.headers.get("ETag") || "";
        show(text);
      }
    }
    document.getElementById("connection").textContent = "";
  } catch {
    if (connection) {
      connection.textContent = " · the board has stopped: start it again to go on";
    }
  }
}

document.documentElement.classList.add("scripted");
document.getElementById("filters").addEventListener("change", (event) => {
  const chosen = new URLSearchParams([...new FormData(event.currentTarget)].filter(([, value]) => value));
  history.pushState(null, "", chosen.size ? `/?${chosen}` : "/");
  shown = address();
  tag = "";
  renew();
});
window.addEventListener("popstate", () => { if (address() !== shown) { location.reload(); } });
setInterval(() => { if (!document.hidden) { renew(); } }, EVERY_MS);
document.addEventListener("visibilitychange", () => { if (!document.hidden) { renew(); } });
