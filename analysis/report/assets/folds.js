// Folded sections: a link to a section opens it, and print opens those that matter on paper.
(function () {
  "use strict";
  function openTarget() {
    const target = document.querySelector(":target");
    let opened = false;
    for (let fold = target && target.closest("details"); fold; fold = fold.parentElement.closest("details")) {
      opened = opened || !fold.open;
      fold.open = true;
    }
    if (opened) target.scrollIntoView();
  }
  window.addEventListener("hashchange", openTarget);
  // A link to the section that the address already names changes no hash.
  document.addEventListener("click", (event) => {
    if (event.target.closest("a[href^='#']")) setTimeout(openTarget, 0);
  });
  openTarget();

  const opened = [];
  window.addEventListener("beforeprint", () => {
    for (const fold of document.querySelectorAll("details.printed:not([open])")) {
      fold.open = true;
      opened.push(fold);
    }
  });
  window.addEventListener("afterprint", () => opened.splice(0).forEach((fold) => { fold.open = false; }));
})();
