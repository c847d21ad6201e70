// Brings the open row of a list into sight when J or K has moved past its edge.
export default function ({ data }) {
  const look = () => {
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
