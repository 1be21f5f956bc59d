import { contractTag } from './language-tags.js'
import { plainWords } from './plain-words.js'

/*
 * A caller who asks for another language, in any of the eleven and in their usual Latin spellings. Lists
 * written by the makers of this program and not reviewed by native speakers.
 */

/** Beginnings of the languages' names; endings ("in Tamil" is one word in Tamil) follow them. */
const NAMES: readonly (readonly [tag: string, stems: readonly string[]])[] = [
  [
    'en-IN',
    stems(`english inglish angrezi angreji अंग्रेजी अंगरेजी इंग्लिश इंग्रजी ইংরেজি ইংলিশ ஆங்கில இங்கிலீஷ் இங்கிலிஷ்
      ఇంగ్లీష్ ఇంగ్లిష్ ఆంగ్ల ಇಂಗ್ಲಿಷ್ ಇಂಗ್ಲೀಷ್ ಆಂಗ್ಲ ഇംഗ്ലീഷ ഇംഗ്ലിഷ અંગ્રેજી ઇંગ્લિશ ઈંગ્લિશ ਅੰਗਰੇਜ ਇੰਗਲਿਸ ଇଂରାଜୀ ଇଂଲିଶ`),
  ],
  ['hi-IN', stems('hindi हिंदी हिन्दी হিন্দি இந்தி ஹிந்தி హిందీ హింది ಹಿಂದಿ ഹിന്ദി હિન્દી હિંદી ਹਿੰਦੀ ହିନ୍ଦୀ ହିନ୍ଦି')],
  [
    'bn-IN',
    stems('bengali bangla बंगाली बांग्ला बंगला বাংলা பெங்காலி வங்காள బెంగాలీ బెంగాలి ಬೆಂಗಾಲಿ ബംഗാളി બંગાળી ਬੰਗਾਲੀ ବଙ୍ଗାଳୀ ବଙ୍ଗଳା'),
  ],
  ['ta-IN', stems('tamil tamizh तमिल तामिळ तामिल তামিল தமிழ தமிழ் తమిళ ತಮಿಳ തമിഴ તમિલ તામિલ ਤਾਮਿਲ ਤਮਿਲ ତାମିଲ')],
  ['te-IN', stems('telugu तेलुगु तेलुगू तेलगु তেলুগু தெலுங்க తెలుగ ತೆಲುಗ തെലുങ്ക തെലുഗ તેલુગ ਤੇਲਗੂ ਤੇਲੁਗੂ ତେଲୁଗୁ')],
  ['kn-IN', stems('kannada कन्नड কন্নড கன்னட కన్నడ ಕನ್ನಡ കന്നഡ കന്നട કન્નડ ਕੰਨੜ କନ୍ନଡ')],
  ['ml-IN', stems('malayalam मलयालम মালয়ালম மலையாள మలయాళ ಮಲಯಾಳ മലയാള મલયાલમ ਮਲਿਆਲਮ ମାଲାୟାଲମ ମଲୟାଲମ')],
  ['mr-IN', stems('marathi मराठी মারাঠি மராத்தி மராட்டி మరాఠీ మరాఠి ಮರಾಠಿ മറാഠി മറാത്തി મરાઠી ਮਰਾਠੀ ମରାଠୀ')],
  ['gu-IN', stems('gujarati gujrati गुजराती গুজরাটি குஜராத்தி గుజరాతీ గుజరాతి ಗುಜರಾತಿ ഗുജറാത്തി ગુજરાતી ਗੁਜਰਾਤੀ ଗୁଜରାଟୀ')],
  ['pa-IN', stems('punjabi panjabi पंजाबी পাঞ্জাবি பஞ்சாபி పంజాబీ పంజాబి ಪಂಜಾಬಿ പഞ്ചാബി પંજાબી ਪੰਜਾਬੀ ପଞ୍ଜାବୀ')],
  ['od-IN', stems('odia oriya ओड़िया उड़िया ওড়িয়া ஒடியா ஒரியா ఒడియా ಒಡಿಯಾ ഒഡിയ ઓડિયા ਓੜੀਆ ਉੜੀਆ ଓଡ଼ିଆ')],
]

/** Latin words count whole: "speaking" and "speaks" tell of somebody else. */
const TALK = new Set(
  normal(
    `speak talk continue switch reply answer respond explain tell repeat change prefer understand
     baat bol bolo boliye bolie bolna bolenge bolein bata batao bataiye batayiye samjhao samjhaiye bolu bola sanga
     kotha bolun bolte pesu pesunga pesalama pesalaam pesa pesuvingala sollunga
     matladandi maatladandi matladu maatladu matladagalara cheppandi maatadi mathadi matadi maathadi heli
     samsarikku samsarikkamo samsarikkaamo parayu parayamo vaat gal gall dasso katha kuhantu kahantu`,
  ),
)
/** Beginnings of the same in the scripts of India. */
const TALK_STEMS = stems(
  `बात बोल बता समझा कहिए कहिये सांग কথা বল பேச சொல்ல మాట్లాడ చెప్ప ಮಾತಾಡ ಮಾತನಾಡ ಮಾತಾಡಿ ಹೇಳ സംസാരി പറയ
   વાત બોલ કહો ਗੱਲ ਬੋਲ ਦੱਸ କଥା କୁହ କହ`,
)

/** All that may stand beside a name for it to be a wish without a verb. */
const BESIDE = new Set(
  normal(
    `in please only plz yes ok okay sir madam mein me main ji te ta la lo la language bhasha मे में जी प्लीज कृपया सिर्फ केवल भाषा
     হ্যাঁ তে ভাষায় దయచేసి లో ದಯವಿಟ್ಟು ದಯಮಾಡಿ തരൂ ദയവായി માં કૃપા ਵਿੱਚ ਜੀ ଦୟାକରି ରେ`,
  ),
)

/** Of English they stand before what they deny, of Indian languages after it. */
const NOT_BEFORE = new Set(normal("not no dont don't cant can't cannot never stop without didn't doesn't"))
const NOT_AFTER = new Set(
  normal(
    `nahi nahin nai mat na illa illai ledu radu raadu vaddu beda alla venda nathi naahi
     नहीं नही मत नाही नको না নয় নেই இல்லை வேண்டாம் లేదు వద్దు రాదు ಬೇಡ ಅಲ್ಲ ഇല്ല വേണ്ട നഹി નથી નહીં નહિ ਨਹੀਂ ਨਾ ନାହିଁ ନୁହେଁ`,
  ),
)
/** The same as an ending of the verb. */
const NOT_ENDING = /(தெரியாது|வராது|முடியாது|తెలియదు|రాదు|ಲ್ಲ|ില്ല)$/

/** The language is what the talk is about. */
const SUBJECT = new Set(
  normal(
    `learn learning teach teacher tutor course courses class classes book books exam film movie song newspaper channel
     medium subject school translate translation spoken seekhna sikhna seekhni sikhni padhna padhni
     सीखना सीखनी सीखने पढ़ना पढ़नी पढ़ने क्लास किताब कोर्स फिल्म गाना`,
  ),
)

/** A wish is short. */
const LONGEST = 10
const CLAUSES =
  /[,.;:!?।॥\n]+|\s(?:but|lekin|magar|par|aur|and|लेकिन|मगर|पर|और|किंतु|पण|কিন্তু|ஆனால்|కానీ|ಆದರೆ|പക്ഷേ|પણ|ਪਰ|କିନ୍ତୁ)\s/u

/** The language asked for, as the contract writes it; null when none of them is. The last wish counts. */
export function requestedLanguage(text: string): string | null {
  let wish: string | null = null
  for (const clause of text.split(CLAUSES)) wish = wishOf(normal(clause)) ?? wish
  return wish
}

function wishOf(words: readonly string[]): string | null {
  if (words.length === 0 || words.length > LONGEST || words.some((word) => SUBJECT.has(word))) return null
  const names = words.flatMap((word, at) => {
    const tag = nameIn(word)
    return tag === null ? [] : [{ tag, at }]
  })
  const wanted = names.filter(
    ({ at }) =>
      !denied(
        words,
        at,
        names.map((name) => name.at),
      ),
  )
  const last = wanted.at(-1)
  if (!last) return null
  const talks = words.some((word) => TALK.has(word) || TALK_STEMS.some((stem) => word.startsWith(stem)))
  const alone = words.every(
    (word, at) => BESIDE.has(word) || NOT_AFTER.has(word) || names.some((name) => name.at === at),
  )
  return talks || alone ? last.tag : null
}

function denied(words: readonly string[], at: number, names: readonly number[]): boolean {
  const before = Math.max(-1, ...names.filter((other) => other < at))
  const after = Math.min(words.length, ...names.filter((other) => other > at))
  const earlier = words.slice(Math.max(before + 1, at - 4), at)
  const later = words.slice(at + 1, Math.min(after, at + 5))
  return (
    earlier.some((word) => NOT_BEFORE.has(word)) ||
    later.some((word) => NOT_AFTER.has(word) || NOT_ENDING.test(word))
  )
}

function nameIn(word: string): string | null {
  // Latin names stand alone; `or` and `ta` are words of their own.
  if (/^[a-z]+$/.test(word)) {
    const named = NAMES.find(([, names]) => names.includes(word))
    return named ? named[0] : word.length > 4 ? contractTag(word) : null
  }
  return NAMES.find(([, names]) => names.some((name) => word.startsWith(name)))?.[0] ?? null
}

function stems(list: string): readonly string[] {
  return normal(list)
}

/** As words are compared: recognisers disagree about the dot below (nukta), composed or not or left out. */
function normal(text: string): readonly string[] {
  return plainWords(text.normalize('NFD').replace(/[\u093c\u09bc\u0a3c\u0abc\u0b3c]/g, ''))
}
