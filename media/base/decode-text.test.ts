import fc from 'fast-check'
import t from 'tap'
import { decodeText } from './decode-text.js'

const western = (text: string) =>
  Uint8Array.from(text, (character) => WESTERN.get(character) ?? character.charCodeAt(0))
const WESTERN = new Map([
  ['€', 0x80],
  ['‘', 0x91],
  ['’', 0x92],
  ['“', 0x93],
  ['”', 0x94],
  ['–', 0x96],
  ['™', 0x99],
  ['Ÿ', 0x9f],
])

t.test('encodings', async (t) => {
  const hindi = 'नमस्ते, 9 बजे'
  t.equal(decodeText(Buffer.from(hindi)), hindi)
  t.equal(decodeText(Buffer.from(`\ufeff${hindi}`)), hindi)
  t.equal(decodeText(Buffer.from(`\ufeff${hindi}`, 'utf16le')), hindi)
  t.equal(decodeText(Buffer.from(`\ufeff${hindi}`, 'utf16le').swap16()), hindi)
  t.equal(decodeText(Buffer.from('Name,Fee', 'utf16le')), 'Name,Fee')
  t.equal(decodeText(Buffer.from('Name,Fee', 'utf16le').swap16()), 'Name,Fee')
  t.equal(decodeText(western('“José” – 5 €, Ÿ™')), '“José” – 5 €, Ÿ™')
  t.equal(decodeText(new Uint8Array()), '')
})

t.test('stray bytes of another encoding cost one character each', async (t) => {
  const hindi = Buffer.from('नमस्ते')
  const mixed = Buffer.concat([
    Buffer.from([0xef, 0xbb, 0xbf]),
    hindi,
    Buffer.from([0x96]),
    hindi,
    Buffer.from([0xe0]),
  ])
  t.equal(decodeText(mixed), 'नमस्ते–नमस्तेà')
  t.equal(
    decodeText(Buffer.concat([hindi, Buffer.from([0xe0, 0xa4])])),
    'नमस्तेà¤',
    'a character that is cut off',
  )
})

t.test('every byte of windows-1252', async (t) => {
  const c1 = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ'
  const rest = Array.from({ length: 96 }, (_, n) => String.fromCharCode(0xa0 + n)).join('')
  const high = Uint8Array.from({ length: 128 }, (_, n) => 0x80 + n)
  t.equal(decodeText(high), c1 + rest)
})

t.test('the number of stray bytes does not decide how many decoders are made', async (t) => {
  const made: unknown[] = []
  const { TextDecoder } = globalThis
  globalThis.TextDecoder = class extends TextDecoder {
    constructor(...options: ConstructorParameters<typeof TextDecoder>) {
      super(...options)
      made.push(options)
    }
  }
  t.teardown(() => {
    globalThis.TextDecoder = TextDecoder
  })
  const many = 200_000
  t.ok(decodeText(Buffer.alloc(many, 0xe0)) === 'à'.repeat(many), 'windows-1252')
  t.equal(made.length, 2)
  const letters = Buffer.concat([Buffer.from('नम'), Buffer.from([0x96])])
  const alternating = Buffer.alloc(many * letters.length, letters)
  t.ok(decodeText(alternating) === 'नम–'.repeat(many), 'in UTF-8, also where pieces meet')
  t.equal(made.length, 4)
})

t.test('valid UTF-8 is read as it is, and no bytes fail', async () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }).filter((text) => !text.includes('\0') && !text.startsWith('\ufeff')),
      (text) => /\p{Surrogate}/u.test(text) || decodeText(Buffer.from(text)) === text,
    ),
  )
  fc.assert(fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => typeof decodeText(bytes) === 'string'))
})
