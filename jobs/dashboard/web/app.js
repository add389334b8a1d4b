// Keeps a page up to date: it asks for the page again and again and makes the parts marked data-live like the new ones.
// Elements that are still there stay the same elements. What the reader presses, has the focus on or selects is left as
// it is until they are done. Everything works without the script; the page then shows the moment at which it was loaded.
"use strict";

(() => {
  const own = document.currentScript.dataset;
  const button = document.getElementById("live"), lost = document.getElementById("lost");
  if (!button && !own.every) return;
  const every = Number(own.every) || 2000, atMost = 5000, soon = 700, patience = 15000, slow = 2500;
  let on = true, failures = 0, silent = "unknown" in document.documentElement.dataset, waiting = false, timer = 0, request = null;
  let pressed = false, held = null; // held: a page that came while something was pressed

  // An element is the same as one of the new page if they have the same key beside the same siblings.
  const keyOf = (n) => n.nodeType !== Node.ELEMENT_NODE ? "" :
    n.id || n.dataset.key || (n.localName === "a" && n.getAttribute("href")) || "";
  const focused = (n) => document.activeElement !== document.body && n.contains(document.activeElement);

  function makeLike(old, fresh) {
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.data !== fresh.data) old.data = fresh.data;
      return;
    }
    if (old.matches("input, select, textarea")) return; // the reader's
    for (const { name } of [...old.attributes]) {
      if (name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name);
    }
    for (const { name, value } of fresh.attributes) {
      if (name !== "open" && old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    makeChildrenLike(old, fresh);
  }

  function makeChildrenLike(old, fresh) {
    const left = [...old.childNodes];
    const take = (child) => {
      const key = keyOf(child);
      const i = left.findIndex((n) => n.nodeName === child.nodeName && keyOf(n) === key);
      return i < 0 ? null : left.splice(i, 1)[0];
    };
    const wanted = [...fresh.childNodes].map((child) => {
      const same = take(child);
      if (!same) return document.importNode(child, true);
      makeLike(same, child);
      return same;
    });
    for (const gone of left) {
      if (focused(gone)) gone.setAttribute("data-gone", ""); // until the focus leaves
      else gone.remove();
    }
    let next = old.firstChild;
    for (const node of wanted) {
      while (next && next.hasAttribute && next.hasAttribute("data-gone")) next = next.nextSibling;
      if (focused(node)) { // it would lose the focus if it were moved, so the others are
        while (next && next !== node) {
          const after = next.nextSibling;
          old.append(next);
          next = after;
        }
      }
      if (node === next) next = next.nextSibling;
      else old.insertBefore(node, next);
    }
  }

  function selecting(part) {
    const selection = document.getSelection();
    return selection && !selection.isCollapsed && selection.containsNode(part, true);
  }

  function takeOver(html) {
    const page = new DOMParser().parseFromString(html, "text/html");
    for (const fresh of page.querySelectorAll("[data-live]")) {
      const old = document.getElementById(fresh.id);
      if (!old) { // a page that could not be made before
        location.reload();
        return;
      }
      if (!selecting(old)) makeLike(old, fresh);
    }
    document.documentElement.dispatchEvent(new CustomEvent("taken-over"));
  }

  const press = () => { pressed = true; };
  const release = () => setTimeout(() => { // the click comes first
    pressed = false;
    const html = held;
    held = null;
    if (html !== null && on) takeOver(html);
  }, 50);
  const acts = (e) => e.key === "Enter" || e.key === " ";
  addEventListener("pointerdown", press, true);
  addEventListener("pointerup", release, true);
  addEventListener("pointercancel", release, true);
  addEventListener("keydown", (e) => { if (acts(e)) press(); }, true);
  addEventListener("keyup", (e) => { if (acts(e)) release(); }, true);
  addEventListener("pointermove", (e) => { if (pressed && e.buttons === 0) release(); }, true); // was let go elsewhere
  addEventListener("blur", release);

  function show() {
    const trouble = failures > 0 || silent || waiting;
    if (lost) lost.hidden = failures === 0;
    if (!button) return;
    button.setAttribute("aria-pressed", String(on));
    button.classList.toggle("lost", on && trouble);
    button.querySelector(".live-text").textContent = !on ? "stopped" : failures > 0 ? "no answer, trying again" :
      silent ? "unknown, trying again" : waiting ? "waiting for an answer" : "live";
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
    const late = setTimeout(() => { waiting = true; show(); }, slow);
    try {
      const answer = await fetch(location.href, {
        headers: { "Dashboard-Live": "1" }, cache: "no-store", credentials: "same-origin", signal: request.signal,
      });
      const html = await answer.text();
      if (!(answer.headers.get("Content-Type") || "").startsWith("text/html") || answer.redirected) throw new Error("no page");
      // While the store does not answer, the page says so: that is worth showing.
      silent = answer.status === 503;
      failures = answer.ok || silent ? 0 : failures + 1;
      if (on && pressed) held = html;
      else if (on) takeOver(html);
    } catch {
      failures++;
    } finally {
      clearTimeout(limit);
      clearTimeout(late);
      request = null;
      waiting = false;
    }
    show();
    plan(silent ? soon : failures ? Math.min(every * 2 ** failures, atMost) : every);
  }

  // The server writes times in the reader's zone beside those of the jobs.
  function tellZone() {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (!zone || document.documentElement.dataset.zone === zone) return false;
    document.cookie = "lockgen-zone=" + encodeURIComponent(zone) + "; max-age=31536000; samesite=lax" +
      (location.protocol.startsWith("https") ? "; secure" : "");
    return true;
  }

  if (button) button.addEventListener("click", () => {
    on = !on;
    failures = 0;
    show();
    plan(0);
  });
  document.addEventListener("visibilitychange", () => plan(0));
  window.addEventListener("pageshow", () => plan(every));
  window.addEventListener("pagehide", () => { clearTimeout(timer); if (request) request.abort(); });
  if (button) button.hidden = false;
  show();
  plan(button && tellZone() ? 0 : silent ? soon : every);
})();
