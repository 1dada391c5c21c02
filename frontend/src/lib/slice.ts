/** Long work in slices, so that the page answers in between. */

const SLICE_MS = 10;

export class Slice {
  private until = performance.now() + SLICE_MS;

  /** Resolves at once while there is time left, else after what waits has had its turn. */
  async pause(): Promise<void> {
    if (performance.now() < this.until) return;
    await nextTask();
    this.until = performance.now() + SLICE_MS;
  }
}

/** Not a timer: those are slowed down to one a second while the page is hidden. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      resolve();
    };
    channel.port2.postMessage(null);
  });
}
