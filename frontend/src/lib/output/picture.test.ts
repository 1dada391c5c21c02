import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { words } from '$lib/words';
import { MAX_PICTURE, MIME, pictureOf, type Format } from './picture';

const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);
const SVG = '<svg xmlns="http://www.w3.org/2000/svg"></svg>';

let page: EventTarget;

beforeEach(() => {
  page = new EventTarget();
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page));
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

function tell(source: unknown, data: unknown): void {
  page.dispatchEvent(Object.assign(new Event('message'), { source, data }));
}

/** A frame that answers a request with what is made of its number. */
function frame(answer: (id: number) => unknown): Window {
  const self = {
    postMessage({ forevervmPicture }: { forevervmPicture: number }) {
      queueMicrotask(() => tell(self, answer(forevervmPicture)));
    },
  };
  return self as unknown as Window;
}

const answering = (picture: unknown) =>
  frame((forevervmPicture) => ({ forevervmPicture, picture }));

it('takes a picture that is what it should be, under a type of its own', async () => {
  const png = await pictureOf(answering(new Blob([PNG], { type: 'text/html' })), 'png');
  expect([png.type, new Uint8Array(await png.arrayBuffer())]).toEqual([MIME.png, PNG]);
  const svg = await pictureOf(answering(new Blob([SVG])), 'svg');
  expect([svg.type, await svg.text()]).toEqual([MIME.svg, SVG]);
});

const html = '<html><script>alert(1)</script></html>';
it.each<[string, Format, unknown]>([
  ['a text', 'svg', SVG],
  ['nothing', 'png', undefined],
  ['an object', 'png', { size: 3, arrayBuffer: () => PNG.buffer }],
  ['another format', 'png', new Blob([SVG])],
  ['a page', 'svg', new Blob([html])],
  ['a page before a picture', 'svg', new Blob([html, SVG])],
  ['a picture before a page', 'svg', new Blob([SVG, html])],
  ['bytes', 'svg', new Blob([PNG])],
  ['no bytes', 'png', new Blob([])],
])('refuses %s as %s', async (_, format, picture) => {
  await expect(pictureOf(answering(picture), format)).rejects.toThrow(words.output.noPicture);
});

it('reads nothing of what is too large', async () => {
  const huge = Object.defineProperty(new Blob([PNG]), 'size', { value: MAX_PICTURE + 1 });
  const read = vi.spyOn(huge, 'arrayBuffer');
  await expect(pictureOf(answering(huge), 'png')).rejects.toThrow(words.output.hugePicture);
  expect(read).not.toHaveBeenCalled();
});

it.each<[string, Window]>([
  ['never', { postMessage: () => undefined } as unknown as Window],
  ['with something else', frame(() => ({ forevervmHeight: 3 }))],
  ['what was not asked', frame((id) => ({ forevervmPicture: id + 1, picture: new Blob([PNG]) }))],
  [
    'through another frame',
    {
      postMessage: ({ forevervmPicture }: { forevervmPicture: number }) =>
        tell({}, { forevervmPicture, picture: new Blob([PNG]) }),
    } as unknown as Window,
  ],
])('says so when a frame answers %s', async (_, silent) => {
  vi.useFakeTimers();
  const told = expect(pictureOf(silent, 'png')).rejects.toThrow(words.output.slowPicture);
  await vi.advanceTimersByTimeAsync(60_000);
  await told;
});
