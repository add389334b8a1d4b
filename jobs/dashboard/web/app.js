// Keeps a page up to date: it asks for the page again and again and takes over the parts marked data-live that have
// changed. Everything works without it; the page then shows the moment at which it was loaded.
"use strict";

(() => {
  const button = document.getElementById("live");
  if (!button) return;
  const text = button.querySelector(".live-text");
  const every = 2000, atMost = 30000, patience = 15000;
  let on = true, failures = 0, timer = 0, request = null;

  // The focus and what is selected belong to the reader.
  const alike = (part, same) => [...part.querySelectorAll("a, button, [tabindex]")].filter(same);

  function describe(part, element) {
    const same = (e) => e.tagName === element.tagName && e.getAttribute("href") === element.getAttribute("href");
    return { same, index: alike(part, same).indexOf(element) };
  }

  function selecting(part) {
    const selection = document.getSelection();
    return selection && !selection.isCollapsed && selection.containsNode(part, true);
  }

  function takeOver(html) {
    const page = new DOMParser().parseFromString(html, "text/html");
    for (const fresh of page.querySelectorAll("[data-live]")) {
      const old = document.getElementById(fresh.id);
      if (!old || old.outerHTML === fresh.outerHTML || selecting(old)) continue;
      const focus = old.contains(document.activeElement) ? describe(old, document.activeElement) : null;
      old.replaceWith(document.adoptNode(fresh));
      if (!focus) continue;
      const left = alike(fresh, focus.same);
      const again = left[Math.min(focus.index, left.length - 1)];
      if (again) again.focus({ preventScroll: true });
    }
  }

  function show() {
    button.setAttribute("aria-pressed", String(on));
    button.classList.toggle("lost", on && failures > 0);
    text.textContent = !on ? "stopped" : failures > 0 ? "no answer, trying again" : "live";
    button.title = on ? "Stop updating this page" : "Update this page";
  }

  function plan(delay) {
    clearTimeout(timer);
    if (on && !document.hidden) timer = setTimeout(update, delay);
  }

  async function update() {
    if (request) return;
    request = new AbortController();
    const limit = setTimeout(() => request.abort(), patience);
    try {
      const answer = await fetch(location.href, {
        headers: { "Dashboard-Live": "1" }, cache: "no-store", credentials: "same-origin", signal: request.signal,
      });
      const html = await answer.text();
      // The store may be down: then the page says so, which is worth showing. Anything else is not ours.
      if (!(answer.headers.get("Content-Type") || "").startsWith("text/html") || answer.redirected) throw new Error("no page");
      if (on) takeOver(html);
      failures = answer.ok ? 0 : failures + 1;
    } catch {
      failures++;
    } finally {
      clearTimeout(limit);
      request = null;
    }
    show();
    plan(Math.min(every * 2 ** Math.min(failures, 5), atMost));
  }

  button.addEventListener("click", () => {
    on = !on;
    failures = 0;
    show();
    plan(0);
  });
  document.addEventListener("visibilitychange", () => plan(0));
  window.addEventListener("pageshow", () => plan(every));
  window.addEventListener("pagehide", () => { clearTimeout(timer); if (request) request.abort(); });
  button.hidden = false;
  show();
  plan(every);
})();
