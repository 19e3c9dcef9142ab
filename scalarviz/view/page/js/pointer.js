// Pointer input on the picture: one finger or button turns, two fingers or the other button shift, wheel or pinch zooms.

const CLICK_PIXELS = 4; // a pointer that moved less was not dragged
const WHEEL_STEP = 1.1; // zoom factor of a notch
const NOTCH = 100; // value of a notch in most browsers

/** Reports pointer events over `element` to `hands`, in CSS pixels from its upper left corner. */
export class Pointers {
  /** `hands`: `turn(dx, dy)`, `shift(dx, dy)`, `zoom(factor, at)`, `hover(at | null, touch)`, `click(at, event)`. */
  constructor(element, hands) {
    this.element = element;
    this.hands = hands;
    this.down = new Map();
    this.moved = 0;
    this.pinched = false;
    element.style.touchAction = "none";
    this.listeners = {
      pointerdown: (event) => this.#press(event),
      pointermove: (event) => this.#move(event),
      pointerup: (event) => this.#release(event),
      pointercancel: (event) => this.#release(event, true),
      pointerleave: () => this.down.size || hands.hover(null),
      wheel: (event) => this.#wheel(event),
      contextmenu: (event) => event.preventDefault(), // the other button shifts the picture
    };
    for (const [name, listener] of Object.entries(this.listeners)) {
      element.addEventListener(name, listener, { passive: false });
    }
  }

  #place(event) {
    const box = this.element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  #press(event) {
    this.down.set(event.pointerId, { at: this.#place(event), button: event.button });
    this.pinched = this.down.size > 1;
    if (!this.pinched) this.moved = 0;
    try {
      this.element.setPointerCapture(event.pointerId);
    } catch {
      // the pointer is gone, or a test invented it
    }
  }

  #move(event) {
    const at = this.#place(event);
    const held = this.down.get(event.pointerId);
    if (!held) return this.hands.hover(at, event.pointerType === "touch");
    const before = held.at;
    held.at = at;
    const [dx, dy] = [at[0] - before[0], at[1] - before[1]];
    this.moved += Math.hypot(dx, dy);
    if (this.down.size === 2) this.#pinch(event.pointerId, before, at);
    else if (this.down.size === 1 && this.moved >= CLICK_PIXELS) {
      this.hands.hover(null);
      if (held.button === 0 && !event.shiftKey) this.hands.turn(dx, dy);
      else this.hands.shift(dx, dy);
    }
  }

  // Two fingers: their middle shifts the picture, their distance zooms it.
  #pinch(moving, before, at) {
    const [, other] = [...this.down].find(([id]) => id !== moving);
    const apart = (p) => Math.max(1, Math.hypot(p[0] - other.at[0], p[1] - other.at[1]));
    const middle = [0, 1].map((k) => (at[k] + other.at[k]) / 2);
    this.hands.shift((at[0] - before[0]) / 2, (at[1] - before[1]) / 2);
    this.hands.zoom(apart(at) / apart(before), middle);
  }

  #release(event, cancelled = false) {
    const held = this.down.get(event.pointerId);
    this.down.delete(event.pointerId);
    const click = held?.button === 0 && !cancelled && !this.pinched && this.down.size === 0 && this.moved < CLICK_PIXELS;
    if (click) this.hands.click(this.#place(event), event);
    if (event.pointerType === "touch" && !click) this.hands.hover(null);
  }

  #wheel(event) {
    if (window.parent !== window && !document.hasFocus()) return; // the page around it scrolls until a click
    event.preventDefault();
    const fingers = event.ctrlKey && event.deltaMode === 0 && Math.abs(event.deltaY) < 50; // a pinch on a touch pad
    if (fingers) return this.hands.zoom(Math.exp(-event.deltaY / 100), this.#place(event));
    const lines = event.deltaMode === 0 ? event.deltaY / NOTCH : event.deltaY / 3;
    this.hands.zoom(WHEEL_STEP ** -Math.max(-3, Math.min(3, lines)), this.#place(event));
  }

  dispose() {
    for (const [name, listener] of Object.entries(this.listeners)) this.element.removeEventListener(name, listener);
  }
}
