// The label bar. One press, by key or mouse, becomes one trigger value that names the
// row that was on the screen. Kept on window because Streamlit may mount the component
// anew at any time, and a press must survive that.

const LETTERS = { Digit1: "1", Digit2: "2", Digit3: "3" };
const VERDICTS = { 1: "pass", 2: "fail", 3: "unclear" };
const HELP = [
  ["1", "pass"], ["2", "fail (on a step: fails here)"], ["3", "can't tell"], ["S", "later"],
  ["U", "undo the last one"], ["N", "write a note"], ["Esc", "leave the note"],
  ["J K", "next, previous step"], ["A", "the reply"], ["T", "only the calls"],
  ["X", "unfold this step"], ["E", "unfold all"], ["?", "these keys"],
];
const PATIENCE_MS = 15000;
const AGAIN_MS = 3000;

const S = (window.__whileaiReviewBar ??= {
  pending: null, // the press that the server has not answered
  view: null, // row, revision, and for how long it could be seen
  notes: {}, // row -> the note that was saved with it: an undo brings it back
  unheard: null, // nonce of a press whose answer may still come
});

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  S.dispose?.();
  const find = (selector) => parentElement.querySelector(selector);
  const note = find(".note");
  S.data = data;
  S.send = (press) => setTriggerValue("press", press);
  S.find = find;

  fillHelp(find(".keys"));
  find(".progress").textContent = data.progress ?? "";
  if (data.annotator) remember("wr_annotator", data.annotator);
  hearAnswer(data);
  startView(data);
  if (note.dataset.row !== data.row_id) {
    note.dataset.row = data.row_id;
    note.value = draft(data.row_id);
  }
  drawLock();

  const onKey = (event) => keyDown(event, note);
  const onClick = (event) => {
    const button = event.target.closest?.("button[data-act]");
    if (button) act(button.dataset.act);
  };
  const onMouseDown = (event) => {
    // The mouse does not take the focus: Space must not press the last button again.
    if (event.target.closest?.("button[data-act]")) event.preventDefault();
  };
  const onInput = () => saveDraft(note.dataset.row, note.value);
  const onVisible = () => countTime();
  const root = find(".bar");
  window.addEventListener("keydown", onKey, true);
  root.addEventListener("click", onClick);
  root.addEventListener("mousedown", onMouseDown);
  note.addEventListener("input", onInput);
  document.addEventListener("visibilitychange", onVisible);
  const dispose = () => {
    window.removeEventListener("keydown", onKey, true);
    root.removeEventListener("click", onClick);
    root.removeEventListener("mousedown", onMouseDown);
    note.removeEventListener("input", onInput);
    document.removeEventListener("visibilitychange", onVisible);
    if (S.dispose === dispose) S.dispose = null;
  };
  S.dispose = dispose;
  return () => S.dispose === dispose && dispose();
}

// ---- what was on the screen, and for how long ----

function records() {
  return [...document.querySelectorAll("[data-wr-row]")];
}

function onScreen(rowId) {
  const shown = records();
  return shown.length > 0 && shown.every((element) => element.dataset.wrRow === rowId);
}

function startView(data) {
  const same = S.view && S.view.row === data.row_id && S.view.revision === data.revision;
  if (same) return;
  S.view = { row: data.row_id, revision: data.revision, painted: false, ms: 0, since: 0 };
  delete document.documentElement.dataset.wrReady;
  if (data.row_id) waitForPaint(S.view);
}

// A frame callback runs before a paint, the next one after it. Neither runs in a hidden tab.
function waitForPaint(view) {
  if (S.view !== view) return;
  const again = () => waitForPaint(view);
  if (!onScreen(view.row)) return void requestAnimationFrame(again);
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      if (S.view !== view) return;
      view.painted = true;
      view.since = performance.now();
      document.documentElement.dataset.wrReady = view.row;
    }),
  );
}

function countTime() {
  const view = S.view;
  if (!view?.painted) return;
  const now = performance.now();
  if (document.visibilityState === "visible") view.since = now;
  else if (view.since) {
    view.ms += now - view.since;
    view.since = 0;
  }
}

function seenMs() {
  const view = S.view;
  if (!view?.painted) return 0;
  return view.ms + (view.since ? performance.now() - view.since : 0);
}

// ---- a press ----

function act(name) {
  if (name === "keys") return toggleHelp();
  const { data } = S;
  if (S.pending && !S.pending.stale) return; // one at a time, until the server answered
  if (name === "undo") {
    if (data.can_undo) press(name);
    return;
  }
  if (!data.row_id) return;
  if (!S.view.painted || !onScreen(data.row_id)) return tell("warn", "not saved: not drawn yet");
  if (seenMs() < data.min_ms) return tell("warn", "not saved: too fast");
  press(name);
}

function press(action) {
  const { data } = S;
  const note = S.find(".note").value;
  const step = action === "fail" ? focusedStep() : null;
  const content = [data.row_id, data.revision, action, note, step].join("\u0000");
  // The same press again is the same press: the store keeps one of each nonce.
  const nonce = S.pending?.content === content ? S.pending.nonce : crypto.randomUUID?.() ?? randomName();
  const { row_id, revision } = data;
  const message = { row_id, revision, action, note, step, nonce, shown_ms: Math.round(seenMs()) };
  stopWaiting(S.pending);
  S.pending = { nonce, content, action, note, row: row_id, revision, stale: false };
  S.pending.timer = setTimeout(giveUp, PATIENCE_MS, S.pending);
  S.pending.again = setInterval(sendAgain, AGAIN_MS, S.pending, message);
  drawLock();
  tell("", "saving");
  S.send(message);
}

// A press can get lost: with a connection that breaks, or in a component that Streamlit is
// about to mount anew. The server knows it by its nonce and keeps one. Not while a script
// runs: a request for another run would end that run before it can answer.
function sendAgain(pending, message) {
  const idle = document.querySelector("[data-test-script-state=notRunning]");
  if (S.pending === pending && !pending.stale && idle) S.send(message);
}

function stopWaiting(pending) {
  clearTimeout(pending?.timer);
  clearInterval(pending?.again);
}

function randomName() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
}

function giveUp(pending) {
  if (S.pending !== pending) return;
  stopWaiting(pending);
  pending.stale = true;
  drawLock();
  tell("error", "not saved yet, press again");
}

function hearAnswer(data) {
  const { pending } = S;
  const { nonce, error } = data.answer ?? {};
  if (!pending) {
    if (error && nonce === S.unheard) tell("error", error);
    else if (data.saved) tell("", data.saved);
    if (nonce === S.unheard) S.unheard = null;
  } else if (nonce === pending.nonce && error) {
    stopWaiting(pending);
    pending.stale = true; // pressing again tries the same press again
    tell("error", error);
  } else if (nonce === pending.nonce) {
    stopWaiting(pending);
    if (["pass", "fail", "unclear"].includes(pending.action)) {
      S.notes[pending.row] = pending.note;
      saveDraft(pending.row, "");
    } else if (pending.action === "undo" && !draft(data.row_id)) {
      saveDraft(data.row_id, S.notes[data.row_id] ?? "");
    }
    S.pending = null;
    tell("", data.saved ?? "");
  } else if (data.row_id !== pending.row || data.revision !== pending.revision) {
    // The answer got lost with its server, or is still to come: what is pressed now is for
    // the row that is here now, never the old press again.
    stopWaiting(pending);
    S.unheard = pending.nonce;
    S.pending = null;
    tell("", data.saved ?? "");
  }
}

function drawLock() {
  const locked = Boolean(S.pending && !S.pending.stale);
  for (const button of S.find(".line").querySelectorAll("button[data-act]")) {
    const needsRow = !["undo", "keys"].includes(button.dataset.act);
    const off = (needsRow && !S.data.row_id) || (button.dataset.act === "undo" && !S.data.can_undo);
    button.disabled = off;
    if (button.dataset.act !== "keys") button.setAttribute("aria-busy", String(locked));
  }
  const note = S.find(".note");
  note.readOnly = locked;
  note.disabled = !S.data.row_id;
  S.find(".bar").dataset.locked = String(locked);
}

function tell(kind, text) {
  const status = S.find(".status");
  status.dataset.kind = kind;
  status.textContent = text;
}

// ---- notes that outlive a reload ----

function draft(rowId) {
  try {
    return (rowId && sessionStorage.getItem("wr-note:" + rowId)) || "";
  } catch {
    return "";
  }
}

function saveDraft(rowId, text) {
  try {
    if (text) sessionStorage.setItem("wr-note:" + rowId, text);
    else sessionStorage.removeItem("wr-note:" + rowId);
  } catch {
    /* private mode without storage: the note lives as long as the page */
  }
}

function remember(name, value) {
  document.cookie = `${name}=${encodeURIComponent(value)}; path=/; max-age=31536000; samesite=lax`;
}

// ---- keys ----

function keyDown(event, note) {
  if (event.isComposing) return;
  const target = event.composedPath()[0];
  if (event.repeat) {
    if (target.closest?.("button[data-act]") && [" ", "Enter"].includes(event.key)) event.preventDefault();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target === note) {
    if (event.key === "Escape" || event.key === "Enter") {
      note.blur();
      event.preventDefault();
    }
    return;
  }
  if (isField(target) || document.querySelector("[role=dialog]")) return;
  const key = keyName(event);
  if (run(key)) {
    event.preventDefault();
    event.stopPropagation();
  }
}

function isField(element) {
  if (!element.matches) return false;
  return element.isContentEditable || element.matches("input, textarea, select, [role=textbox], [role=combobox]");
}

// Letters by their place where the layout has no Latin ones.
function keyName(event) {
  const key = event.key.toLowerCase();
  if (/^[ -~]$/.test(key)) return key;
  return LETTERS[event.code] ?? (/^Key[A-Z]$/.test(event.code) ? event.code[3].toLowerCase() : key);
}

function run(key) {
  if (VERDICTS[key]) act(VERDICTS[key]);
  else if (key === "s") act("later");
  else if (key === "u") act("undo");
  else if (key === "n") S.find(".note").focus();
  else if (key === "?") toggleHelp();
  else if (key === "j") moveStep(1);
  else if (key === "k") moveStep(-1);
  else if (key === "a") document.querySelector("[data-wr-reply]")?.scrollIntoView({ block: "start" });
  else if (key === "t") records().forEach((r) => r.toggleAttribute("data-wr-calls-only"));
  else if (key === "x") unfoldStep();
  else if (key === "e") unfoldAll();
  else return false;
  return true;
}

// ---- steps of the record: the screen's own business, nothing goes to the server ----

function steps() {
  return [...document.querySelectorAll("[data-wr-row] [data-wr-step]")].filter(
    (element) => !element.parentElement.closest("details:not([open])"),
  );
}

function currentStep() {
  return document.querySelector("[data-wr-step][data-wr-current]");
}

function focusedStep() {
  const current = currentStep();
  return current ? Number(current.dataset.wrStep) : null;
}

function moveStep(by) {
  const all = steps();
  if (!all.length) return;
  const at = all.indexOf(currentStep());
  const next = at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by;
  currentStep()?.removeAttribute("data-wr-current");
  if (next < 0 || next >= all.length) return; // off the end: no step has the focus
  all[next].setAttribute("data-wr-current", "");
  all[next].scrollIntoView({ block: "nearest" });
}

function foldsOf(element) {
  return element ? [...element.querySelectorAll("details")].concat(element.matches("details") ? [element] : []) : [];
}

function unfoldStep() {
  const folds = foldsOf(currentStep() ?? steps()[0]);
  const open = folds.some((fold) => !fold.open);
  folds.forEach((fold) => (fold.open = open));
}

function unfoldAll() {
  const folds = records().flatMap(foldsOf);
  const open = folds.some((fold) => !fold.open);
  folds.forEach((fold) => (fold.open = open));
}

function toggleHelp() {
  const box = S.find(".keys");
  box.hidden = !box.hidden;
  S.find("button[data-act=keys]").setAttribute("aria-expanded", String(!box.hidden));
}

function fillHelp(box) {
  if (box.childElementCount) return;
  for (const [key, text] of HELP) {
    const line = document.createElement("span");
    const name = document.createElement("b");
    name.textContent = key;
    line.append(name, " " + text);
    box.append(line);
  }
}
