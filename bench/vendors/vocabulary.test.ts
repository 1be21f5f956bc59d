import t from 'tap'
import { decodeG711, encodeG711 } from '../../fixtures/audio/g711.js'
import { RECITAL, WORDS, wordIn, wordIndex, wordMs } from './vocabulary.js'
import { pieces, synthesiseWords } from './word-tones.js'

const PACKET = 160

t.test('every word is known again from the telephone, packet by packet', async (t) => {
  const text = RECITAL.join(' ')
  t.equal(text.split(' ').length, WORDS.length)
  const { pcm, words } = synthesiseWords(text, 8000)
  const heard = new Map<number, number>()
  for (let at = 0; at < pcm.length; at += PACKET) {
    const packet = decodeG711('PCMA', encodeG711('PCMA', pcm.subarray(at, at + PACKET)))
    const word = wordIn(packet)
    heard.set(word, (heard.get(word) ?? 0) + 1)
  }
  t.same([...heard.keys()], [...WORDS.keys()], 'all, in order')
  for (const [word, packets] of heard) t.equal(packets * 20, wordMs(word), WORDS[word] ?? '')
  t.same(
    words.map(({ word }) => wordIndex(word)),
    [...WORDS.keys()],
  )
  t.equal(words[1]?.startSeconds, wordMs(0) / 1000)
})

t.test('other words have no sound; pieces are the whole of it', async (t) => {
  t.equal(wordIndex('Hello,'), -1)
  t.equal(wordIndex('Zulu.'), 25)
  const { pcm } = synthesiseWords('Hello alpha there', 16_000)
  t.equal(pcm.length, (wordMs(0) * 16_000) / 1000)
  const bytes = pieces(pcm, 16_000).map((piece) => Buffer.from(piece, 'base64'))
  t.equal(bytes[0]?.length, 3200, '100 ms')
  t.same(Buffer.concat(bytes), Buffer.from(pcm.buffer))
})
