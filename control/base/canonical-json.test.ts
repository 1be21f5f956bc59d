import t from 'tap'
import { canonicalJson } from './canonical-json.js'

t.test('RFC 8785 vectors', async (t) => {
  t.equal(
    canonicalJson({
      numbers: [Number('333333333.33333329'), 1e30, 4.5, 2e-3, Number('0.000000000000000000000000001')],
      string: '\u20ac$\u000F\u000aA\'\u0042\u0022\u005c\\"/',
      literals: [null, true, false],
    }),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  )
  // Section 3.2.3: sorted by UTF-16 code units, not by code points.
  t.equal(
    canonicalJson({ '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\ud83d\ude00': 5, '\u0080': 6, '\u00f6': 7 }),
    '{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}',
  )
  t.equal(canonicalJson(-0), '0')
})

t.test('values that JSON cannot carry are rejected', async (t) => {
  t.throws(() => canonicalJson(Number.NaN), { code: 'internal' })
  t.throws(() => canonicalJson([Number.POSITIVE_INFINITY]), { code: 'internal' })
  t.throws(() => canonicalJson({ a: '\ud83d' }), { code: 'internal' })
})
