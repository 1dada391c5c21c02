import { expect, it } from 'vitest';
import { isSentence } from './sentence';

it.each([
  'please show me the total revenue by shop',
  'Show me the sales by month.',
  "What's the best month?",
  'Zeig mir bitte den Umsatz je Filiale',
  'Dibuja las ventas por mes',
  'which invoices in sales.xlsx were paid twice?',
])('takes for a sentence: %s', (text) => expect(isSentence(text)).toBe(true));

it.each([
  'import numpy as np',
  'from math import pi',
  'x',
  'df.head',
  'not a and b or c',
  'a if b else c',
  'x is not y',
  'for n in names: print',
  'del a, b',
  'raise Error from error',
  '%pip install numpy pandas requests',
  '!ls -la the folder',
  'print("show me the sales")',
  '# show me the sales',
  'x = 1\ny = 2',
  'lambda: x',
  'global total',
  '1 + 2 - 3',
])('takes for Python: %s', (text) => expect(isSentence(text)).toBe(false));
