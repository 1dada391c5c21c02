import { expect, it } from 'vitest';
import type { Api } from '$lib/api/api';
import type { Variable } from '$lib/api/types';
import { Variables } from './variables.svelte';

/** A machine whose answers are given by hand. */
function asked(): { variables: Variables; answer(values: Record<string, string>): Promise<void> } {
  const waiting: ((list: Variable[]) => void)[] = [];
  const api = {
    get: async () => ({ items: await new Promise<Variable[]>((r) => waiting.push(r)) }),
  } as unknown as Api;
  return {
    variables: new Variables({ api, name: 'm' } as never),
    async answer(values) {
      const list = Object.entries(values).map(([name, preview]) => ({ name, preview }));
      waiting.shift()?.(list as Variable[]);
      await new Promise((done) => setTimeout(done));
    },
  };
}

it('marks what the last step changed, also where the answer to the one before came late', async () => {
  const { variables, answer } = asked();
  void variables.refresh(); // after step 1
  await answer({ n: '0', same: 'x' });
  expect([...variables.changed]).toEqual([]);

  void variables.refresh(); // after step 2, which is answered when step 3 has ended
  void variables.refresh(); // after step 3
  await answer({ n: '42', same: 'x' });
  await answer({ n: '42', same: 'x' });
  expect([...variables.changed]).toEqual(['n']);

  void variables.refresh(); // after step 4, which changed nothing
  await answer({ n: '42', same: 'x' });
  expect([...variables.changed]).toEqual([]);
});
