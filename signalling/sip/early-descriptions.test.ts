import t from 'tap'
import { EarlyDescriptions } from './early-descriptions.js'

function response(tag: string, rseq?: string) {
  const headers: Readonly<Record<string, string | undefined>> = {
    To: `"a;tag=x" <sip:a@example.com;tag=y>${tag === '' ? '' : `;tag=${tag}`}`,
    RSeq: rseq,
  }
  return { get: (name: string) => headers[name] }
}

t.test('the first description of a fork counts, and a reliable one before others', async (t) => {
  const early = new EarlyDescriptions()
  early.received(response('a'), '')
  t.equal(early.of(response('a')), '')
  early.received(response('a'), 'one')
  early.received(response('a'), 'two')
  early.received(response('b', '1'), 'three')
  t.strictSame(
    [early.of(response('a')), early.of(response('b')), early.of(response('c'))],
    ['one', 'three', ''],
  )
  early.received(response('a', '7'), 'four')
  early.received(response('a', '8'), 'five')
  early.received(response('b'), 'six')
  t.strictSame([early.of(response('a')), early.of(response('b'))], ['four', 'three'])
  early.clear()
  t.equal(early.of(response('a')), '')
})

t.test('descriptions of sixteen forks are kept', async (t) => {
  const early = new EarlyDescriptions()
  for (let fork = 0; fork < 100; fork++) early.received(response(`f${fork}`), 'sdp')
  t.strictSame([early.of(response('f15')), early.of(response('f16'))], ['sdp', ''])
})
