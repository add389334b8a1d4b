// Keeps the page up to date. Without it the page reloads itself.
"use strict";

(() => {
  const parts = ["score", "nodes", "runs", "made"];

  // A button that has the focus keeps it, also where the part around it is replaced.
  function takeOver(page) {
    const label = document.activeElement && document.activeElement.getAttribute("aria-label");
    for (const id of parts) {
      const old = document.getElementById(id), fresh = page.getElementById(id);
      if (!old || !fresh || old.outerHTML === fresh.outerHTML) continue;
      old.replaceWith(document.adoptNode(fresh));
    }
    if (label && document.activeElement === document.body) {
      const again = [...document.querySelectorAll("button")].find((b) => b.getAttribute("aria-label") === label);
      if (again) again.focus({ preventScroll: true });
    }
  }

  async function update() {
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      if (!answer.ok) throw new Error(answer.statusText);
      takeOver(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch {
      const made = document.getElementById("made");
      if (!made.textContent.includes("no answer")) made.textContent += " The program gives no answer: has it ended?";
    }
    setTimeout(update, 1000);
  }
  setTimeout(update, 1000);
})();
