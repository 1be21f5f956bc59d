import t from 'tap'
import { classifyNumber, dialledToE164, isDialable, isE164 } from './numbering.js'

t.test('only canonical E.164 is accepted', async (t) => {
  for (const good of ['+919876543210', '+14155550100', '+9118001234567']) t.ok(isE164(good), good)
  for (const bad of [
    '919876543210',
    '+91 98765 43210',
    '+0919876543210',
    '+91987654321O',
    '',
    '+',
    ' +919876543210',
  ]) {
    t.notOk(isE164(bad), JSON.stringify(bad))
  }
})

t.test('the classes of Indian numbers', async (t) => {
  const table: readonly [string, string, string?][] = [
    ['+919876543210', 'subscriber', 'mobile'],
    ['+919000000001', 'subscriber', 'mobile'],
    ['+919000000013', 'subscriber', 'mobile'],
    ['+919000000100', 'subscriber', 'mobile'],
    ['+911171366900', 'subscriber', 'landline'],
    ['+912248900100', 'subscriber', 'landline'],
    ['+918066000100', 'subscriber', 'unknown'],
    // Kharar's code starts 160 as well; only 1600 and 1601 are the service series.
    ['+911602234567', 'subscriber', 'landline'],
    ['+911812234567', 'subscriber', 'landline'],
    ['+911401234567', 'promotional_series'],
    ['+911600123456', 'service_series'],
    ['+911601123456', 'service_series'],
    ['+911800123456', 'special'],
    ['+9118001234567', 'special'],
    ['+9118601234567', 'special'],
    ['+911811234567', 'invalid'],
    ['+9112345678', 'invalid'],
    ['+91112', 'invalid'],
    ['+910987654321', 'invalid'],
    ['+9198765432101', 'special'],
    ['+14155550100', 'foreign'],
    ['9876543210', 'invalid'],
  ]
  for (const [number, kind, lineType] of table) {
    const found = classifyNumber(number, [])
    t.equal(found.kind, kind, number)
    if (found.kind === 'subscriber') t.equal(found.lineType, lineType, number)
    t.equal(isDialable(number, []), kind === 'subscriber', number)
  }
})

t.test('a series newer than the metadata can be admitted', async (t) => {
  t.equal(classifyNumber('+916012345678', []).kind === 'subscriber', isDialable('+916012345678', []))
  t.match(classifyNumber('+915012345678', []), { kind: /invalid|special/ })
  t.same(classifyNumber('+915012345678', ['5012']), {
    kind: 'subscriber',
    e164: '+915012345678',
    lineType: 'mobile',
  })
})

t.test('number formats of softphones and carriers', async (t) => {
  const expected = '+919000000100'
  for (const user of [
    expected,
    '919000000100',
    '00919000000100',
    '09000000100',
    '9000000100',
    '+91 90000-00100',
  ]) {
    t.equal(dialledToE164(user), expected, user)
  }
  t.equal(dialledToE164('+14155550100'), '+14155550100')
  for (const user of ['18001234567', '018001234567', '9118001234567', '+9118001234567', '1800 123 4567'])
    t.equal(dialledToE164(user), '+9118001234567', user)
  t.equal(dialledToE164('1800123456'), '+911800123456')
  t.equal(dialledToE164('18601234567'), '+9118601234567')
  for (const user of ['0008001001234', '910008001001234', '+910008001001234', '000-800-100-1234'])
    t.equal(dialledToE164(user), '+910008001001234', user)
  t.equal(dialledToE164('+18001234567'), '+18001234567', 'a number of another country')
  for (const user of ['', 'alice', '112', 'anonymous', '+', '+91', "1' or '1'='1"]) {
    t.equal(dialledToE164(user), null, user)
  }
})
