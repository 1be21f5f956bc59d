import { wordsOf } from './words.js'

/*
 * Words that ask or connect and say nothing about the subject. They are left out of questions, not of documents.
 */

const ENGLISH =
  'a an the is are was were be been am do does did have has had can could may might must shall should will would i me ' +
  'my mine we us our you your he she it its they them their this that these those what which who whom whose when where ' +
  'why how much many of to in on at for from with by about into as if or and but not no so than then there here any ' +
  'some please tell get got know want need am don doesn didn isn wasn aren won wouldn couldn shouldn can cannot t s ll re ve m d ' +
  'his her hers yours ours theirs myself yourself himself herself themselves because until while again also just very too ' +
  'only own same each both other such more most now let yes hello hi sir madam'
const HINDI =
  'का की के को में से पर है हैं हूं था थी थे हो होता होती होते हुआ हुई गया गई गए क्या कब कहां कैसे कितना कितनी कितने ' +
  'कौन कौनसा कौनसी सा किस किसे क्यों मैं मेरा मेरी मेरे मुझे हम हमारा आप आपका अपना अपनी यह ये वह वे इस उस तो भी ही और ' +
  'या नहीं ने तक लिए कर करना करें करूं सकते सकता सकती रहा रही रहे जाता जाती जाते अगर तो जब तब लेकिन मगर वाला वाली वाले चाहिए ' +
  'होगा होगी होंगे रहता रहती मिलेगा मिलेगी मिलेंगे मिलता मिलती मिल लगेगा लगेगी लगेंगे लगता लगती लगते पड़ेगा पड़ेगी पड़ेंगे पड़ता ' +
  'किसको किसका किसकी कहना बताना बताएं बताइए बताओ वो इसके उसके इसका उसका मैंने आपके आपकी हमारी हमारे हमें उन्हें कुछ'
const HINGLISH =
  'ka ki ke ko me mein se par pe hai hain hu hoon tha thi ho hota hoti gaya gayi kya kab kahan kaha kaise kitna kitni ' +
  'kitne kaun kaunsa kis kyon mai mera meri mere mujhe hum aap apna apni yeh ye woh wo is us to bhi hi aur ya nahi ne ' +
  'tak liye kar karna kare karu sakte sakta raha rahi rahe sakti agar toh jab tab lekin wala wali wale chahiye hoga hogi honge ' +
  'milega milegi milenge milta milti lagega lagegi lagenge lagta lagti lagte padega padegi padenge padta karun karein kiya ' +
  'kisko kiska kiski bataye bataiye batao vo uska uske iska iske maine aapke aapki hamara hamari hamare kuch jata jati jate hun'
const TAMIL =
  'என்ன எப்போது எங்கே எப்படி எவ்வளவு எந்த எத்தனை யார் ஏன் நான் என் எனக்கு நீங்கள் உங்கள் இது அது இந்த அந்த ஒரு மற்றும் வேண்டும் வேண்டுமா ' +
  'எப்போ எங்க எப்டி எவ்ளோ எத்தன எதுக்கு யாரு நீங்க உங்க எங்கள் எங்க அவர் நாங்கள் உண்டா இருக்கா இருக்கிறதா இல்லை ஆகும் ஆகுமா முடியுமா ' +
  'கிடைக்குமா வேணும் வேணுமா பண்ணணும் செய்ய பண்ண செய்வது அல்லது ஆனால் என்று'
const TANGLISH =
  'enna eppo enga eppadi evvalavu endha evlo yaar naan en enakku neenga oru venum eppodhu engey epdi evlavu ethana ethanai yaru yen ' +
  'unga enga idhu adhu indha andha ungal engal irukka irukku iruka illa illai aagum aaguma mudiyuma kidaikuma kidaikkuma venuma ' +
  'pannanum panna pannalam seiya seiyanum ku la il nu ah'
const BENGALI =
  'কী কি কে কত কখন কবে কোথায় কেন কীভাবে কোন কোনটি আমি আমার আমাকে আপনি আপনার এই সেই এটা ও এবং বা না নেই আছে হয় হলে জন্য থেকে ' +
  'কতক্ষণ কতদিন কদিন কটা কয়টা কার কাকে কোথা তো আর যদি তবে কিন্তু লাগে লাগবে পাব পাবো পাওয়া যায় যাবে যাব করব করতে করে করা হবে হতে ' +
  'চাই দিতে দেব আমরা আমাদের আপনারা আপনাদের তারা তাদের ওই কিছু কোনো'
const BANGLISH =
  'ki ke koto kokhon kobe kothay keno kivabe kon ami amar apni apnar ei er o na ache hoy hole jonno theke kotokkhon kotodin kodin ' +
  'kota kota kar kake kotha to ar jodi tobe kintu lage lagbe pabo paoa jay jabe jabo korbo korte kore kora korle hobe hote chai ' +
  'dite debo amra amader apnara tara tader oi kichu kono r ta ti y e te'

export const FUNCTION_WORDS: ReadonlySet<string> = new Set(
  wordsOf([ENGLISH, HINDI, HINGLISH, TAMIL, TANGLISH, BENGALI, BANGLISH].join(' ')),
)
