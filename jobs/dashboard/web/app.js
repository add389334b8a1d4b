// Keeps a page up to date: it asks for the page again and again and makes the parts marked data-live like the new ones.
// Elements that are still there stay the same elements. What the reader presses, has the focus on or selects is left as
// it is until they are done. Everything works without the script; the page then shows the moment at which it was loaded.
"use strict";

(() => {
  const own = document.currentScript.dataset, root = document.documentElement;
  const button = document.getElementById("live"), lost = document.getElementById("lost");
  if (!button && !own.every) return;
  const every = Number(own.every) || 2000, atMost = 5000, soon = 700, patience = 15000, slow = 2500;
  let on = true, failures = 0, silent = "unknown" in root.dataset, timer = 0, request = null;
  let waiting = 0; // 1: an answer takes long; 2: so long that the page is no longer up to date
  let trouble = ""; // what came in place of a page; "nothing": no answer
  let refused = false; // the dashboard itself says that there is no page
  let pressed = false, selected = false;
  let held = null; // takes over what came while something was pressed

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

  // What shows no text holds none that is selected, also where all of the page is.
  function selecting(part) {
    const selection = document.getSelection();
    return selection && !selection.isCollapsed && selection.containsNode(part, true) &&
      part.checkVisibility() && part.textContent.trim() !== "";
  }

  // As of when the page is, is said by made. It is no later than any part, so it stays while a part is held.
  function takeOver(page) {
    let made = null;
    selected = false;
    for (const fresh of page.querySelectorAll("[data-live]")) {
      const old = document.getElementById(fresh.id);
      if (!old) { // a page that could not be made before
        location.reload();
        return;
      }
      if (selecting(old)) selected = true;
      else if (fresh.id === "made") made = fresh;
      else makeLike(old, fresh);
    }
    if (made && !selected) makeLike(document.getElementById("made"), made);
    root.dispatchEvent(new CustomEvent("taken-over"));
  }

  // A page that there is no longer leaves what was shown as it was.
  function takeRefusal(page) {
    for (const id of ["unknown", "back", "problems"]) {
      const old = document.getElementById(id), fresh = page.getElementById(id);
      if (old && fresh && !selecting(old)) makeLike(old, fresh);
    }
  }

  const press = () => { pressed = true; };
  const release = () => setTimeout(() => { // the click comes first
    pressed = false;
    const takeHeld = held;
    held = null;
    if (takeHeld && on) takeHeld();
    if (takeHeld) show();
  }, 50);
  const acts = (e) => e.key === "Enter" || e.key === " ";
  addEventListener("pointerdown", press, true);
  addEventListener("pointerup", release, true);
  addEventListener("pointercancel", release, true);
  addEventListener("keydown", (e) => { if (acts(e)) press(); }, true);
  addEventListener("keyup", (e) => { if (acts(e)) release(); }, true);
  addEventListener("pointermove", (e) => { if (pressed && e.buttons === 0) release(); }, true); // was let go elsewhere
  addEventListener("blur", release);
  document.addEventListener("selectionchange", () => {
    if (selected && document.getSelection().isCollapsed) plan(0);
  });

  const answered = () => trouble === "nothing" ? "no answer" : "answered with " + trouble;
  const state = () => !on ? "stopped" : trouble ? answered() + ", trying again" : silent ? "unknown, trying again" :
    waiting ? "waiting for an answer" : held ? "held while pressed" : selected ? "held while text is selected" : "live";

  function show() {
    const away = on && !refused && (failures > 1 || waiting > 1);
    root.toggleAttribute("data-stale", away || on && refused);
    showLost(away);
    if (!button) return;
    button.setAttribute("aria-pressed", String(on));
    button.classList.toggle("lost", on && Boolean(trouble || silent || waiting));
    button.classList.toggle("held", on && Boolean(held || selected));
    button.querySelector(".live-text").textContent = state();
    button.title = on ? "Stop updating this page" : "Update this page";
  }

  const write = (e, text) => { if (e.textContent !== text) e.textContent = text; }; // what is written again is read out again

  function showLost(away) {
    if (!lost) return;
    const title = lost.querySelector("h2"), asOf = lost.querySelector(".as-of");
    if (away && title) {
      write(title, "The server " + (!trouble || trouble === "nothing" ? "does not answer" : "answers with " + trouble));
      write(asOf, document.querySelector("#made time").textContent);
    }
    lost.hidden = !away;
  }

  function plan(delay) {
    clearTimeout(timer);
    if (on && !document.hidden) timer = setTimeout(update, delay);
  }

  // What is not a page of this program, such as the answer of a proxy or a form to sign in, is not shown.
  async function take(answer) {
    const html = await answer.text();
    const page = new DOMParser().parseFromString(html, "text/html"), unknown = page.getElementById("unknown");
    const text = (answer.headers.get("Content-Type") || "").startsWith("text/html");
    const good = text && !answer.redirected && page.querySelector("[data-live]");
    // While the store does not answer, the page says so: that is worth showing.
    silent = Boolean(good && answer.status === 503 && unknown && !unknown.hidden);
    refused = Boolean(good && !answer.ok && !silent);
    trouble = good && (answer.ok || silent) ? "" : answer.ok ? "another page" : "status " + answer.status;
    failures = trouble ? failures + 1 : 0;
    if (!good || !on) return;
    const takeIt = () => refused ? takeRefusal(page) : takeOver(page);
    if (pressed) held = takeIt;
    else takeIt();
  }

  async function update() {
    if (request) return;
    const asked = request = new AbortController();
    const limits = [
      setTimeout(() => asked.abort(), patience),
      setTimeout(() => { waiting = 1; show(); }, slow),
      setTimeout(() => { waiting = 2; show(); }, atMost),
    ];
    try {
      await take(await fetch(location.href, {
        headers: { "Dashboard-Live": "1" }, cache: "no-store", credentials: "same-origin", signal: asked.signal,
      }));
    } catch {
      if (!asked.left) {
        trouble = "nothing";
        silent = refused = false;
        failures++;
      }
    } finally {
      limits.forEach(clearTimeout);
      request = null;
      waiting = 0;
    }
    show();
    plan(silent || failures === 1 ? soon : failures ? Math.min(every * 2 ** (failures - 1), atMost) : every);
  }

  // The server writes times in the reader's zone beside those of the jobs.
  function tellZone() {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (!zone || root.dataset.zone === zone) return false;
    document.cookie = "lockgen-zone=" + encodeURIComponent(zone) + "; max-age=31536000; samesite=lax" +
      (location.protocol.startsWith("https") ? "; secure" : "");
    return true;
  }

  if (button) button.addEventListener("click", () => {
    on = !on;
    failures = 0;
    trouble = "";
    refused = selected = false;
    show();
    plan(0);
  });
  document.addEventListener("visibilitychange", () => plan(0));
  window.addEventListener("pageshow", (e) => plan(e.persisted ? 0 : every));
  window.addEventListener("pagehide", () => {
    clearTimeout(timer);
    if (request) {
      request.left = true;
      request.abort();
    }
  });
  if (button) button.hidden = false;
  show();
  plan(button && tellZone() ? 0 : silent ? soon : every);
})();
