// textual.js marks the page once its socket is open: from then on keys go to the app without a click first.
new MutationObserver((_, observer) => {
  if (document.body.classList.contains("-loaded")) {
    observer.disconnect();
    document.querySelector(".xterm-helper-textarea").focus();
  }
}).observe(document.body, { attributes: true });
