import { plainWords } from './plain-words.js'
import { WordList } from './word-list.js'

/*
 * What unfinished sentences, numbers and addresses end with, in the eleven languages as recognisers spell
 * them: native script, Latin, and English words in native script. Written by the makers of this program
 * and not reviewed by native speakers.
 */

/** One spelling for letters that Unicode writes in two ways. */
export function wordsOf(text: string): string[] {
  return plainWords(text.normalize('NFC'))
}

function listOf(everywhere: string, only: Readonly<Record<string, string>> = {}): WordList {
  return new WordList(
    everywhere.normalize('NFC'),
    Object.fromEntries(Object.entries(only).map(([tag, words]) => [tag, words.normalize('NFC')])),
  )
}

/** After these, more is coming. */
export const CONTINUES = listOf(
  `and or but so because if when while whether although unless until till than that which who whose where with without for
     to of from into about between during the a an my your his her our their is are was were am will would can could should
     i'm it's he's she's we're they're also plus every some very quite around except
     और या लेकिन मगर परंतु परन्तु किंतु किन्तु पर क्योंकि अगर यदि तो कि का की के को से में ने जब जो फिर मतलब यानी तथा बल्कि इसलिए ताकि
     जैसे मेरा मेरी मेरे हमारा हमारी हमारे अपना अपनी अपने उसका उसकी उनका उनकी
     आणि किंवा पण परंतु मात्र कारण जर तर व जेव्हा मग म्हणून माझा माझी माझे माझं आमचा आमची आमचे म्हणजे
     এবং আর কিন্তু তবে অথবা বা কারণ যদি তাহলে যে যখন যেমন মানে আমার আমাদের
     மற்றும் ஆனால் ஆனா அல்லது ஏனென்றால் ஏன்னா அதனால் அப்புறம் அதாவது என் எனது எங்கள் என்னோட
     మరియు కానీ కాని లేదా ఎందుకంటే అయితే ఒకవేళ అందుకే ఇంకా నా మా అంటే
     ಮತ್ತು ಹಾಗೂ ಆದರೆ ಅಥವಾ ಏಕೆಂದರೆ ಯಾಕೆಂದರೆ ಆಮೇಲೆ ನನ್ನ ನಮ್ಮ ಅಂದರೆ
     പക്ഷേ പക്ഷെ എന്നാൽ അല്ലെങ്കിൽ കാരണം കൂടാതെ പിന്നെ അതായത് എന്റെ ഞങ്ങളുടെ
     અને પણ પરંતુ અથવા કારણ કારણકે કેમકે જો તો કે જ્યારે મારું મારો મારી મારા અમારું અમારો અમારી
     ਅਤੇ ਤੇ ਜਾਂ ਪਰ ਲੇਕਿਨ ਕਿਉਂਕਿ ਜੇ ਜੇਕਰ ਤਾਂ ਕਿ ਦਾ ਦੀ ਦੇ ਨੂੰ ਫਿਰ ਮੇਰਾ ਮੇਰੀ ਮੇਰੇ ਸਾਡਾ ਸਾਡੀ
     ଏବଂ ଓ ଆଉ କିନ୍ତୁ କିମ୍ବା ବା କାରଣ ଯଦି ତେବେ ଯେ ମୋର ଆମର`,
  {
    'hi-IN': `aur ya lekin magar kyunki kyonki agar to toh ki ka ke ko se mein par jab phir matlab yaani mera meri mere
      hamara hamari hamare apna apni apne jaise isliye taaki ne`,
    'mr-IN': 'aani kinva pan karan jar tar mhanje majha majhi majhe',
    'bn-IN': 'ebong ar kintu othoba karon jodi tahole mane amar',
    'te-IN': 'mariyu kani leda endukante ante naa',
    'ta-IN': 'aana aanal illana yenna enna en',
    'kn-IN': 'mattu adre athava yakandre nanna',
    'ml-IN': 'pakshe allenkil karanam ente',
    'gu-IN': 'ane pan athva karan jo maru maro mari',
    'pa-IN': 'ate te ya par kyunki je mera meri',
    'od-IN': 'ebam kintu kimba karana jadi mora',
  },
)

/** Sounds of thinking. */
export const FILLERS = listOf(
  `um uh umm uhh er erm hmm well actually basically
     उम उम्म अम अं मतलब वो उह মানে তো উম எம் அது வந்து உம் అంటే ఉమ్ ಅದು ಅಂದ್ರೆ ഉം അത് એટલે ઉમ ਮਤਲਬ ਉਮ ମାନେ`,
)

/** Ends of two or more words that ask for their object. */
export const ASKS_FOR_MORE =
  /(?<!\b(what|that|all|which) )\b(i|we) (want|need|have|would like|wanted to|was wondering)$|\b(i|we)'?d like$|\b(can|could|would|will|do|did|are) (you|i|we)$|\b(tell|give|let|send|show) me$|\b(such|as well) as$|\bfor example$|\b(this|it|that|there|here|what) is$/

/** Digits said as words. */
export const DIGITS = listOf(
  `zero oh one two three four five six seven eight nine
     शून्य ज़ीरो ज़ीरो जीरो एक दो तीन चार पांच पाँच छह छः छे सात आठ नौ वन टू थ्री फोर फ़ोर फाइव फ़ाइव सिक्स सेवन एट नाइन
     दोन पाच सहा नऊ
     শূন্য জিরো এক দুই তিন চার পাঁচ ছয় সাত আট নয় ওয়ান টু থ্রি ফোর ফাইভ সিক্স সেভেন এইট নাইন
     பூஜ்யம் பூஜ்ஜியம் சைபர் ஒன்று ஒன்னு இரண்டு ரெண்டு மூன்று மூணு நான்கு நாலு ஐந்து அஞ்சு ஆறு ஏழு எட்டு ஒன்பது
     ஜீரோ ஒன் டூ த்ரீ ஃபோர் ஃபைவ் சிக்ஸ் செவன் எய்ட் நைன்
     సున్నా జీరో ఒకటి రెండు మూడు నాలుగు ఐదు అయిదు ఆరు ఏడు ఎనిమిది తొమ్మిది వన్ టూ త్రీ ఫోర్ ఫైవ్ సిక్స్ సెవెన్ ఎయిట్ నైన్
     ಸೊನ್ನೆ ಝೀರೋ ಜೀರೋ ಒಂದು ಎರಡು ಮೂರು ನಾಲ್ಕು ಐದು ಆರು ಏಳು ಎಂಟು ಒಂಬತ್ತು ಒನ್ ಟೂ ತ್ರೀ ಫೋರ್ ಫೈವ್ ಸಿಕ್ಸ್ ಸೆವೆನ್ ಎಯ್ಟ್ ನೈನ್
     പൂജ്യം സീറോ ഒന്ന് രണ്ട് മൂന്ന് നാല് അഞ്ച് ആറ് ഏഴ് എട്ട് ഒമ്പത് ഒൻപത് വൺ ടു ത്രീ ഫോർ ഫൈവ് സിക്സ് സെവൻ എയ്റ്റ് നയൻ
     શૂન્ય ઝીરો એક બે ત્રણ ચાર પાંચ છ સાત આઠ નવ વન ટુ થ્રી ફોર ફાઇવ સિક્સ સેવન એઇટ નાઇન
     ਸਿਫ਼ਰ ਸਿਫਰ ਜ਼ੀਰੋ ਇੱਕ ਇਕ ਦੋ ਤਿੰਨ ਚਾਰ ਪੰਜ ਛੇ ਸੱਤ ਅੱਠ ਨੌਂ ਨੌ ਵਨ ਟੂ ਥ੍ਰੀ ਫੋਰ ਫਾਈਵ ਸਿਕਸ ਸੈਵਨ ਏਟ ਨਾਈਨ
     ଶୂନ୍ୟ ଜିରୋ ଏକ ଦୁଇ ତିନି ଚାରି ପାଞ୍ଚ ଛଅ ସାତ ଆଠ ନଅ`,
  {
    'hi-IN': 'ek do teen char chaar paanch panch chhe chah saat aath nau shunya',
    'te-IN': 'okati rendu moodu nalugu aidu aaru edu enimidi tommidi sunna',
    'ta-IN': 'onnu rendu moonu naalu anju aaru ezhu ettu onbathu poojyam',
  },
)

/** What the next digit is said with, and how often it is meant beside itself. */
export const REPEATS: ReadonlyMap<string, number> = new Map([
  ...wordsOf('double डबल ডাবল டபுள் డబుల్ ಡಬಲ್ ഡബിൾ ડબલ ਡਬਲ ଡବଲ').map((word) => [word, 1] as const),
  ...wordsOf('triple ट्रिपल ট্রিপল ட்ரிபிள் ట్రిపుల్ ಟ್ರಿಪಲ್ ട്രിപ്പിൾ ટ્રિપલ ਟ੍ਰਿਪਲ').map((word) => [word, 2] as const),
])

/** The caller says what number it is: how many digits it has then. */
export const NUMBERS: readonly (readonly [RegExp, ReadonlySet<number>])[] = [
  [/\b(card|debit|credit)\b|कार्ड|కార్డు?|கார்டு?|ಕಾರ್ಡ್|കാർഡ്|কার্ড|કાર્ડ|ਕਾਰਡ|କାର୍ଡ/i, new Set([16])],
  [/\ba?adhaa?r\b|आधार|ఆధార్|ஆதார்|ಆಧಾರ್|ആധാർ|আধার|આધાર|ਆਧਾਰ|ଆଧାର/i, new Set([12])],
  [
    /\b(otp|pin|pin ?code|passcode|code|zip)\b|ओटीपी|पिन|कोड|ఓటీపీ|పిన్|కోడ్|ஓடிபி|பின்|ಒಟಿಪಿ|ಪಿನ್|ഒടിപി|പിൻ|ওটিপি|পিন|ઓટીપી|પિન|ਓਟੀਪੀ|ਪਿੰਨ|ଓଟିପି|ପିନ୍/i,
    new Set([4, 6]),
  ],
  [
    /\b(phone|mobile|whatsapp|contact|my) (number|no)\b|नंबर|नम्बर|नंबर|మొబైల్|నంబర్|நம்பர்|எண்|ನಂಬರ್|നമ്പർ|નંબર|ਨੰਬਰ|ନମ୍ବର|নম্বর|নাম্বার/i,
    new Set([10, 12]),
  ],
]

/** Any number that somebody gives: of an order, an account, a policy. */
export const ANY_NUMBER = /\b(number|no|id|account|order|policy|reference|booking)\b/i

/** Before these numerals are a time or an amount. */
export const TIME_OR_AMOUNT = /\b(at|by|around|about|till|until|from|before|after|rupees|rs|than|for)$/i

/** Words of an address that ask for another one. */
export const ADDRESS_GOES_ON: ReadonlySet<string> = new Set(
  wordsOf(
    `at dot gmail yahoo outlook hotmail rediffmail underscore dash hyphen
     डॉट डाट जीमेल अंडरस्कोर याहू ॲट अॅट ডট জিমেইল টাট டாட் ஜிமெயில் அட் డాట్ జీమెయిల్ ఎట్ ಡಾಟ್ ಜಿಮೇಲ್ ಅಟ್
     ഡോട്ട് ജിമെയിൽ അറ്റ് ડોટ જીમેલ ਡਾਟ ਜੀਮੇਲ ଡଟ ଜିମେଲ`,
  ),
)

/** What is in every address said aloud. */
export const ADDRESS_AT: ReadonlySet<string> = new Set(wordsOf('at एट ॲट अॅट অ্যাট அட் ఎట్ ಅಟ್ അറ്റ് એટ ਐਟ ଆଟ'))

/** It is an address, though nothing of its end has come. */
export const ADDRESS = /\be-?mail\b|ईमेल|इमेल|ఈమెయిల్|மின்னஞ்சல்|ஈமெயில்|ಇಮೇಲ್|ഇമെയിൽ|ইমেইল|ઈમેલ|ઇમેલ|ਈਮੇਲ|ଇମେଲ/i

/** Letters said one by one. */
export const LETTERS: ReadonlySet<string> = new Set([
  ...'abcdefghijklmnopqrstuvwxyz',
  ...wordsOf('ए बी सी डी ई एफ जी एच आई जे के एल एम एन ओ पी क्यू आर एस टी यू वी डब्ल्यू एक्स वाई ज़ेड ज़ेड'),
])
