// Brings the open row of a list into sight when J or K has moved past its edge, and takes
// the focus out of a filter once it was chosen: J typed into its field walks nowhere.
export default function ({ data }) {
  const look = () => {
    const active = document.activeElement;
    const filter = active?.closest?.('[data-testid="stSelectbox"]');
    if (filter && active.getAttribute("aria-expanded") !== "true") active.blur();
    const chosen = document.querySelector(`.st-key-${data.list} label:has(input:checked)`);
    const frame = chosen?.closest(`.st-key-${data.list}`);
    if (!frame) return;
    const line = chosen.getBoundingClientRect();
    const box = frame.getBoundingClientRect();
    if (line.top < box.top || line.bottom > box.bottom) {
      // Not scrollIntoView: that moves the page too.
      frame.scrollTop += line.top - box.top - box.height / 3;
    }
  };
  requestAnimationFrame(look);
  const later = setTimeout(look, 250);
  return () => clearTimeout(later);
}
