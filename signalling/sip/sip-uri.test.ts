import t from 'tap'
import { sipUri, uriUser } from './sip-uri.js'

t.test('user parts in the forms that peers send', async (t) => {
  const cases: readonly [string, string][] = [
    ['sip:+919000000010@127.0.0.1:5060', '+919000000010'],
    ['sip:+919000000010@host;user=phone', '+919000000010'],
    ['"A, B" <sip:1001@pbx.example>;tag=x', '1001'],
    ['<sips:1001:secret@pbx.example>;tag=x', '1001'],
    ['sip:+91900;phone-context=+91@h;user=phone', '+91900'],
    ['tel:+919000000010;ext=1', '+919000000010'],
    ['<tel:+91900>', '+91900'],
    ['sip:%2B91900@h', '+91900'],
    ['sip:%ZZ@h', '%ZZ'],
    ['sip:host', ''],
    ['', ''],
    ['nonsense', ''],
  ]
  for (const [value, user] of cases) t.equal(uriUser(value), user, value)
})

t.test('formatted URIs', async (t) => {
  t.equal(
    sipUri({ user: '+91900', host: '127.0.0.1', port: 5060, transport: 'udp' }),
    'sip:+91900@127.0.0.1:5060',
  )
  t.equal(
    sipUri({ user: 'a#b@c', host: '::1', port: 5070, transport: 'tcp' }),
    'sip:a%23b%40c@[::1]:5070;transport=tcp',
  )
})
