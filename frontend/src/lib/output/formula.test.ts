import { describe, expect, it } from 'vitest';
import { latexHtml } from './formula';

describe('formulas', () => {
  it('are drawn as MathML, alone and within text', async () => {
    const alone = await latexHtml('$\\displaystyle \\int x^{2}\\, dx$');
    expect(alone).toMatch(/^<math[^>]*display="block"/);
    expect(alone).toContain('∫');
    expect(alone).toContain('<msup>');
    const within = await latexHtml('The sum $a_1 < b$ of <b> costs \\$5.');
    expect(within).toMatch(/^The sum <math(?![^>]*block)/);
    expect(within).toContain('of &#60;b&#62; costs');
    expect(await latexHtml('\\begin{matrix}1 & 2\\\\3 & 4\\end{matrix}')).toContain('<mtable');
    expect(await latexHtml('$$\\frac12$$ and \\[x\\]')).toMatch(/mfrac[\s\S]* and <math/);
    expect(await latexHtml('x^2')).toContain('<msup>');
  });

  it('that are wrong, hostile or too long harm nothing', async () => {
    expect(await latexHtml('$\\frac{1$')).toContain('temml-error');
    expect(await latexHtml(`$${'x'.repeat(30_000)}$`)).toBeNull();
    const link = await latexHtml(
      '$\\href{javascript:alert(1)}{x} \\includegraphics{http://evil.example/x.png}$',
    );
    expect(link).not.toMatch(/href="javascript|src="http/);
    expect(await latexHtml('$\\def\\a#1{\\a{#1#1}}\\a{x}$')).toBeNull();
    expect(await latexHtml(`$${'{'.repeat(9_000)}${'}'.repeat(9_000)}$`)).not.toContain('<script');
    expect(await latexHtml('\\begin{'.repeat(2_000))).not.toBeNull();
    expect(await latexHtml('$'.repeat(19_999))).not.toBeNull();
    expect(await latexHtml('$\\begin{a}'.repeat(1_900))).not.toBeNull();
  });
});
