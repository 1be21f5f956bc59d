import { wordsOf } from './words.js'

/*
 * Words that ask or connect and say nothing about the subject. They are left out of questions, not of documents.
 */

const ENGLISH =
  'a an the is are was were be been am do does did have has had can could may might must shall should will would i me ' +
  'my mine we us our you your he she it its they them their this that these those what which who whom whose when where ' +
  'why how much many of to in on at for from with by about into as if or and but not no so than then there here any ' +
  'some please tell get got know want need'
const HINDI =
  'का की के को में से पर है हैं हूं था थी थे हो होता होती होते हुआ हुई गया गई गए क्या कब कहां कैसे कितना कितनी कितने ' +
  'कौन कौनसा कौनसी सा किस किसे क्यों मैं मेरा मेरी मेरे मुझे हम हमारा आप आपका अपना अपनी यह ये वह वे इस उस तो भी ही और ' +
  'या नहीं ने तक लिए कर करना करें करूं सकते सकता सकती रहा रही रहे जाता जाती'
const HINGLISH =
  'ka ki ke ko me mein se par pe hai hain hu hoon tha thi ho hota hoti gaya gayi kya kab kahan kaha kaise kitna kitni ' +
  'kitne kaun kaunsa kis kyon mai mera meri mere mujhe hum aap apna apni yeh ye woh wo is us to bhi hi aur ya nahi ne ' +
  'tak liye kar karna kare karu sakte sakta raha rahi rahe'
const TAMIL =
  'என்ன எப்போது எங்கே எப்படி எவ்வளவு எந்த எத்தனை யார் ஏன் நான் என் எனக்கு நீங்கள் உங்கள் இது அது இந்த அந்த ஒரு மற்றும் வேண்டும் வேண்டுமா'
const TANGLISH = 'enna eppo enga eppadi evvalavu endha evlo yaar naan en enakku neenga oru venum'
const BENGALI =
  'কী কি কে কত কখন কবে কোথায় কেন কীভাবে কোন কোনটি আমি আমার আমাকে আপনি আপনার এই সেই এটা ও এবং বা না নেই আছে হয় হলে জন্য থেকে'
const BANGLISH =
  'ki ke koto kokhon kobe kothay keno kivabe kon ami amar apni apnar ei er o na ache hoy hole jonno theke'

export const FUNCTION_WORDS: ReadonlySet<string> = new Set(
  wordsOf([ENGLISH, HINDI, HINGLISH, TAMIL, TANGLISH, BENGALI, BANGLISH].join(' ')),
)
