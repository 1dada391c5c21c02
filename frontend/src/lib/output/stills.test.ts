import { expect, it } from 'vitest';
import { keepStill, stillOf } from './stills';

/** The beginning of a PNG with so many pixels. */
function png(width: number, height: number): Blob {
  const header = new DataView(new ArrayBuffer(24));
  header.setUint32(16, width);
  header.setUint32(20, height);
  return new Blob([header.buffer]);
}

it('keeps the newest stills, and lets go of the others', async () => {
  for (let n = 0; n < 41; n++) await keepStill(`figure ${n}`, png(700, 450), 450);
  expect(stillOf('figure 0')).toBeUndefined();
  expect(stillOf('figure 1')).toMatchObject({ height: 450 });
  const before = stillOf('figure 40');
  await keepStill('figure 40', png(700, 500), 500);
  expect(stillOf('figure 40')).not.toEqual(before);
});

it('keeps none that would fill the memory once it is drawn', async () => {
  await keepStill('wide', png(1 << 20, 10), 450);
  await keepStill('cut off', new Blob(['PNG']), 450);
  expect([stillOf('wide'), stillOf('cut off')]).toEqual([undefined, undefined]);
});
