import { plainWords } from './plain-words.js'

/*
 * Words by which languages that share a script are told apart: English and romanised Indian languages in
 * Latin letters, Hindi and Marathi in Devanagari. Written by the makers of this program, not reviewed by
 * native speakers.
 */

function words(list: string): ReadonlySet<string> {
  return new Set(plainWords(list))
}

/**
 * Said in every language of India alike: greetings, assent, numbers, and the English words of business.
 * They tell nothing, in whatever letters a recogniser writes them.
 */
export const SHARED = words(
  `ok okay yes no yeah yep ya hello hallo hi hey bye thanks thank you welcome please plz sorry sir madam maam mam hmm mm
   aha oh ah haan han haa ha ji haanji achha accha acha theek thik sahi bas na aama seri sari ho
   phone mobile number call calling callback whatsapp email mail gmail dot com sms message otp pin code link app online
   booking book appointment doctor clinic hospital test report time date day week month year slot price rate offer discount
   order payment pay bank loan emi card account upi cash bill invoice amount address delivery service customer care
   manager office company school class tuition hotel room ticket train bus car bike insurance policy problem cancel
   confirm reschedule ready free busy late change fix start stop demo visit check update status option plan tension
   monday tuesday wednesday thursday friday saturday sunday january february march april june july august september
   october november december am pm minute minutes second hour hours
   zero one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty hundred
   thousand lakh crore rupee rupees double triple percent
   हाँ हां हा जी अच्छा ठीक सही हम्म हूँ ओके हेलो हैलो थैंक थैंक्स थैंक्यू यू सॉरी प्लीज प्लीज़ यस नो बाय सर मैडम फोन फ़ोन नंबर
   अपॉइंटमेंट बुकिंग कॉल मोबाइल टाइम डेट ऑनलाइन पेमेंट नमस्ते नमस्कार होय हो
   ওকে হ্যালো থ্যাঙ্ক থ্যাংক ইউ সরি প্লিজ ফোন নম্বর ஓகே ஹலோ தேங்க்ஸ் தேங்க் யூ சாரி ப்ளீஸ் போன் நம்பர்
   ఓకే హలో థాంక్స్ థాంక్ యూ సారీ ప్లీజ్ ఫోన్ నంబర్ ಓಕೆ ಹಲೋ ಥ್ಯಾಂಕ್ಸ್ ಥ್ಯಾಂಕ್ ಯೂ ಸಾರಿ ಪ್ಲೀಸ್ ಫೋನ್ ನಂಬರ್
   ഓക്കെ ഓകെ ഹലോ താങ്ക്സ് താങ്ക് യൂ സോറി പ്ലീസ് ഫോൺ നമ്പർ ઓકે હેલો થેન્ક્સ થેંક યુ સોરી પ્લીઝ ફોન નંબર
   ਓਕੇ ਹੈਲੋ ਥੈਂਕਸ ਥੈਂਕ ਯੂ ਸੌਰੀ ਪਲੀਜ਼ ਫੋਨ ਨੰਬਰ ଓକେ ହେଲୋ ଥ୍ୟାଙ୍କ ୟୁ ସରି ପ୍ଲିଜ ଫୋନ ନମ୍ବର`,
)

/** English, without those that are common words of romanised Hindi too ("to", "do", "me", "main"). */
const ENGLISH = words(
  `the a an i he she we they it is are am was were be been does did don't can could will would shall should may might
   must have has had want need like know think tell give take get make come go let say see look ask send what when where
   who whom why how which this that these those there here my your his her our their him them of in on at for from with
   by about and or but if then because not tomorrow today yesterday morning evening afternoon night next last now later
   much many very more some any all just only also too up out over after before again i'm it's that's i'd i'll can't
   won't didn't isn't good nice fine great sure right open close closed cost money available possible name friend`,
)

/** Common words of romanised Indian languages. */
const ROMANISED: Readonly<Record<string, ReadonlySet<string>>> = {
  'hi-IN': words(
    `hai hain hoon hun tha thi kya kyun kyon kyunki kaise kahan kab kaun kitna kitne kitni mujhe mujhko mera meri mere aap
     aapka aapki aapke aapko tum tumhara hum humein hamara nahi nahin mat karo karna karni kar kare karein karenge karunga
     karungi karta karti karte kariye kijiye dijiye dena dedo chahiye chahta chahti chahte raha rahi rahe gaya gayi gaye
     abhi kal parso aaj subah shaam sham raat baje liye ke ka ki ko se mein aur lekin magar toh bhi sirf wala wali wale
     bahut thoda thodi jaldi baat bolo boliye bol bataiye batao bata suniye suno samajh pata kuch koi sab yeh ye woh wo
     yahan wahan jab tab phir matlab paisa paise rupaye ghar bhai yaar arre sakte sakta sakti hoga hogi honge jana aana
     lena lunga rakhna milega milegi dekho`,
  ),
  'mr-IN': words(
    `aahe ahe aahet mala tumhi tumhala kay kasa kashi kadhi kuthe kiti pahije hava havi ani mhanje zala jhala karaycha
     karaychi karayche sanga bolu udya majha majhi majhe tumcha tumchi aamhi mhanun aata nahi naahi nako`,
  ),
  'bn-IN': words(
    `ami amar amake apni apnar tumi keno kothay kokhon koto ache achhe nei hobe korte korbo korun bolun chai ekhon ar ebong
     kintu jonno theke taka bhalo kal aaj ki`,
  ),
  'ta-IN': words(
    `naan enakku ennaku unga ungal neenga enna eppo epdi eppadi evlo evvalavu irukku iruku illa illai venum vendum
     pannunga pannanum sollunga panna nalaiku naalaikku innaiku romba konjam ippo adhu idhu enga`,
  ),
  'te-IN': words(
    `nenu naaku naku meeru mee miru enti emiti ela eppudu ekkada enta undi unnayi ledu ledhu kavali cheyandi cheyali
     cheppandi repu ivala ippudu chala konchem kani mariyu adi idi andi`,
  ),
  'kn-IN': words(
    `naanu nanage nanna neevu nimma yenu enu hege yaavaga elli eshtu ide illa beku maadi madi heli naale ivattu tumba
     swalpa matte aadare`,
  ),
  'ml-IN': words(
    `njan njaan enikku enik ningal ningalude entha enthu engane eppol evide ethra undu illa venam cheyyanam parayu
     parayamo naale innu valare kurachu`,
  ),
  'gu-IN': words(
    `mane mare tame tamare tamne shu kem kyare ketla ketlu che chhe nathi joie joiye karvu kaho kale ane mate bahu`,
  ),
  'pa-IN': words(
    `mainu menu tusi tussi tuhada tuhanu kive kiven kithe kado kinna kinni haiga chahida chahidi dasso hun kal vich ki`,
  ),
  'od-IN': words(
    'mu mote mora apana apananka kemiti kebe keunthi kete achhi darkar karantu kuhantu kali aji ebe ebang',
  ),
}

const DEVANAGARI: Readonly<Record<string, ReadonlySet<string>>> = {
  'hi-IN': words(
    `है हैं था थी थे मुझे मैं मेरा मेरी मेरे आप आपका आपकी आपके आपको तुम हम हमें क्या कैसे कैसा कैसी कब कहाँ कहां कौन कितना
     कितने कितनी चाहिए और लेकिन मगर नहीं मत करना करनी करो करें कीजिए दीजिए बताइए बताओ बोलिए बोलो रहा रही रहे गया गई
     का की के को से में यह ये वह वो यहाँ वहाँ अभी कल शाम सुबह लिए भी तो सकते सकता सकती होगा`,
  ),
  'mr-IN': words(
    `आहे आहेत नाही मला तुम्ही तुम्हाला काय कसा कशी कसे कधी कुठे किती पाहिजे हवा हवी हवे आणि पण म्हणजे झाला झाली झाले
     सांगा करायचा करायची करायचे उद्या माझा माझी माझे तुमचा तुमची तुमचे आम्ही आमचा मी मध्ये साठी करा बोला बोलू करू शकता
     नको बरं आता थोडं येतो येते संध्याकाळी सकाळी`,
  ),
}

/** Which of these languages have the word, written in Latin letters. Several: it tells nothing. */
export function latinWord(word: string, languages: readonly string[]): readonly string[] {
  return languages.filter((tag) => (tag === 'en-IN' ? ENGLISH : ROMANISED[tag])?.has(word) === true)
}

/** The same for Devanagari. */
export function devanagariWord(word: string, languages: readonly string[]): readonly string[] {
  return languages.filter((tag) => DEVANAGARI[tag]?.has(word) === true)
}
