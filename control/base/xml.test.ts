import t from 'tap'
import { readXml } from './xml.js'

t.test('elements become objects, arrays and texts', async (t) => {
  t.same(
    readXml(`<?xml version="1.0" encoding="UTF-8"?>
      <!-- Exotel, GET /v1/Accounts/{sid}/Numbers/{number} -->
      <TwilioResponse>
        <Numbers>
          <PhoneNumber>0XXXXXX4890</PhoneNumber>
          <Circle>DL</Circle>
          <Operator>A</Operator>
          <DND>Yes</DND>
        </Numbers>
      </TwilioResponse>`),
    { TwilioResponse: { Numbers: { PhoneNumber: '0XXXXXX4890', Circle: 'DL', Operator: 'A', DND: 'Yes' } } },
  )
  t.same(readXml('<a><b x="1">one</b><b>two</b><c/><b> three </b></a>'), {
    a: { b: ['one', 'two', 'three'], c: '' },
  })
  t.same(readXml('<n:a>R&amp;D &lt;b&gt; &#x20B9;<![CDATA[ <x> & ]]></n:a>'), { 'n:a': 'R&D <b> ₹ <x> &' })
  t.same(readXml('\uFEFF<a>1</a>\n'), { a: '1' })
})

t.test('anything else is nothing', async (t) => {
  const deep = '<a>'.repeat(40) + '</a>'.repeat(40)
  for (const text of [
    '',
    'Yes',
    '<a>',
    '<a><b>1</a>',
    '<a>1</b>',
    '<a>1</a><b>2</b>',
    '<a>1</a>x',
    '{"a":1}',
    deep,
  ]) {
    t.equal(readXml(text), undefined, text.slice(0, 20))
  }
})

t.test('no entity of the document, and no member of a prototype', async (t) => {
  const bomb = '<!DOCTYPE a [<!ENTITY x "xxxx"><!ENTITY f SYSTEM "file:///etc/passwd">]><a>&x;&f;</a>'
  const read = readXml(bomb)
  t.ok(read === undefined || !JSON.stringify(read).includes('xxxx'), JSON.stringify(read))
  const own = readXml('<a><__proto__><x>1</x></__proto__></a>') as { a: object }
  t.equal(({} as { x?: unknown }).x, undefined)
  t.notOk('x' in own.a)
})
