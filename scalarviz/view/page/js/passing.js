// The clock of who watches: how long ago the frame before was taken over, where time went on from that to this one.

/** Between the frames that one player shows. */
export class Passing {
  /** @param {() => number} now milliseconds */
  constructor(now = () => performance.now()) {
    this.now = now;
    this.before = null;
    this.at = 0;
  }

  /**
   * Take over a frame.
   * @returns {number | null} seconds since the one before, or since the same was taken over last; null where there is
   *   none, or where time went elsewhere: back, or between frames one of which has newer ones behind it
   */
  seconds(frame) {
    const { before, at } = this;
    [this.before, this.at] = [frame, this.now()];
    if (before === null) return null;
    const elsewhere = before.step !== frame.step && (before.past || frame.past || frame.step < before.step);
    return elsewhere ? null : (this.at - at) / 1000;
  }
}
