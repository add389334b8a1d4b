// A form that was sent cannot be pressed again, until the browser shows another page or was stopped. A key that led here and is
// still down presses nothing.
"use strict";

(() => {
  const form = document.querySelector("form.confirm"), patience = 10000;
  if (!form) return;
  const button = form.querySelector("button");
  let timer = 0, sent = false;
  form.addEventListener("submit", () => {
    sent = button.disabled = true;
    timer = setTimeout(() => { button.disabled = false; }, patience);
  });
  button.addEventListener("keydown", (e) => { if (e.repeat) e.preventDefault(); });
  window.addEventListener("pageshow", (e) => {
    clearTimeout(timer);
    button.disabled = false;
    if (e.persisted && sent) location.reload(); // the form is another one then
  });
})();
