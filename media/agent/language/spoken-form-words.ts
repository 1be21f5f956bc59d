/** What spoken forms are made of in one language. */
export interface SpokenWords {
  readonly rupee: string
  readonly rupees: string
  readonly paise: string
  readonly thousand: string
  readonly lakh: string
  readonly crore: string
  readonly percent: string
  /** Parts of addresses: `@`, `.`, `-`, `_`, `/`. */
  readonly at: string
  readonly dot: string
  readonly dash: string
  readonly underscore: string
  readonly slash: string
  readonly months: readonly string[]
}

const months = (names: string): readonly string[] => names.split(' ')

/*
 * The eleven languages of the contract. Written by the makers of this program, not reviewed by native
 * speakers of each.
 */
const WORDS: Readonly<Record<string, SpokenWords>> = {
  'en-IN': {
    rupee: 'rupee',
    rupees: 'rupees',
    paise: 'paise',
    thousand: 'thousand',
    lakh: 'lakh',
    crore: 'crore',
    percent: 'percent',
    at: 'at',
    dot: 'dot',
    dash: 'dash',
    underscore: 'underscore',
    slash: 'slash',
    months: months('January February March April May June July August September October November December'),
  },
  'hi-IN': {
    rupee: 'रुपया',
    rupees: 'रुपये',
    paise: 'पैसे',
    thousand: 'हज़ार',
    lakh: 'लाख',
    crore: 'करोड़',
    percent: 'प्रतिशत',
    at: 'ऐट',
    dot: 'डॉट',
    dash: 'डैश',
    underscore: 'अंडरस्कोर',
    slash: 'स्लैश',
    months: months('जनवरी फरवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर'),
  },
  'bn-IN': {
    rupee: 'টাকা',
    rupees: 'টাকা',
    paise: 'পয়সা',
    thousand: 'হাজার',
    lakh: 'লাখ',
    crore: 'কোটি',
    percent: 'শতাংশ',
    at: 'অ্যাট',
    dot: 'ডট',
    dash: 'ড্যাশ',
    underscore: 'আন্ডারস্কোর',
    slash: 'স্ল্যাশ',
    months: months('জানুয়ারি ফেব্রুয়ারি মার্চ এপ্রিল মে জুন জুলাই আগস্ট সেপ্টেম্বর অক্টোবর নভেম্বর ডিসেম্বর'),
  },
  'ta-IN': {
    rupee: 'ரூபாய்',
    rupees: 'ரூபாய்',
    paise: 'பைசா',
    thousand: 'ஆயிரம்',
    lakh: 'லட்சம்',
    crore: 'கோடி',
    percent: 'சதவீதம்',
    at: 'அட்',
    dot: 'டாட்',
    dash: 'டாஷ்',
    underscore: 'அண்டர்ஸ்கோர்',
    slash: 'ஸ்லாஷ்',
    months: months('ஜனவரி பிப்ரவரி மார்ச் ஏப்ரல் மே ஜூன் ஜூலை ஆகஸ்ட் செப்டம்பர் அக்டோபர் நவம்பர் டிசம்பர்'),
  },
  'te-IN': {
    rupee: 'రూపాయి',
    rupees: 'రూపాయలు',
    paise: 'పైసలు',
    thousand: 'వేల',
    lakh: 'లక్షల',
    crore: 'కోట్ల',
    percent: 'శాతం',
    at: 'అట్',
    dot: 'డాట్',
    dash: 'డాష్',
    underscore: 'అండర్‌స్కోర్',
    slash: 'స్లాష్',
    months: months('జనవరి ఫిబ్రవరి మార్చి ఏప్రిల్ మే జూన్ జూలై ఆగస్టు సెప్టెంబర్ అక్టోబర్ నవంబర్ డిసెంబర్'),
  },
  'kn-IN': {
    rupee: 'ರೂಪಾಯಿ',
    rupees: 'ರೂಪಾಯಿ',
    paise: 'ಪೈಸೆ',
    thousand: 'ಸಾವಿರ',
    lakh: 'ಲಕ್ಷ',
    crore: 'ಕೋಟಿ',
    percent: 'ಪ್ರತಿಶತ',
    at: 'ಅಟ್',
    dot: 'ಡಾಟ್',
    dash: 'ಡ್ಯಾಶ್',
    underscore: 'ಅಂಡರ್‌ಸ್ಕೋರ್',
    slash: 'ಸ್ಲ್ಯಾಶ್',
    months: months('ಜನವರಿ ಫೆಬ್ರವರಿ ಮಾರ್ಚ್ ಏಪ್ರಿಲ್ ಮೇ ಜೂನ್ ಜುಲೈ ಆಗಸ್ಟ್ ಸೆಪ್ಟೆಂಬರ್ ಅಕ್ಟೋಬರ್ ನವೆಂಬರ್ ಡಿಸೆಂಬರ್'),
  },
  'ml-IN': {
    rupee: 'രൂപ',
    rupees: 'രൂപ',
    paise: 'പൈസ',
    thousand: 'ആയിരം',
    lakh: 'ലക്ഷം',
    crore: 'കോടി',
    percent: 'ശതമാനം',
    at: 'അറ്റ്',
    dot: 'ഡോട്ട്',
    dash: 'ഡാഷ്',
    underscore: 'അണ്ടർസ്കോർ',
    slash: 'സ്ലാഷ്',
    months: months('ജനുവരി ഫെബ്രുവരി മാർച്ച് ഏപ്രിൽ മേയ് ജൂൺ ജൂലൈ ഓഗസ്റ്റ് സെപ്റ്റംബർ ഒക്ടോബർ നവംബർ ഡിസംബർ'),
  },
  'mr-IN': {
    rupee: 'रुपया',
    rupees: 'रुपये',
    paise: 'पैसे',
    thousand: 'हजार',
    lakh: 'लाख',
    crore: 'कोटी',
    percent: 'टक्के',
    at: 'ॲट',
    dot: 'डॉट',
    dash: 'डॅश',
    underscore: 'अंडरस्कोर',
    slash: 'स्लॅश',
    months: months('जानेवारी फेब्रुवारी मार्च एप्रिल मे जून जुलै ऑगस्ट सप्टेंबर ऑक्टोबर नोव्हेंबर डिसेंबर'),
  },
  'gu-IN': {
    rupee: 'રૂપિયો',
    rupees: 'રૂપિયા',
    paise: 'પૈસા',
    thousand: 'હજાર',
    lakh: 'લાખ',
    crore: 'કરોડ',
    percent: 'ટકા',
    at: 'ઍટ',
    dot: 'ડોટ',
    dash: 'ડેશ',
    underscore: 'અંડરસ્કોર',
    slash: 'સ્લેશ',
    months: months('જાન્યુઆરી ફેબ્રુઆરી માર્ચ એપ્રિલ મે જૂન જુલાઈ ઑગસ્ટ સપ્ટેમ્બર ઑક્ટોબર નવેમ્બર ડિસેમ્બર'),
  },
  'pa-IN': {
    rupee: 'ਰੁਪਇਆ',
    rupees: 'ਰੁਪਏ',
    paise: 'ਪੈਸੇ',
    thousand: 'ਹਜ਼ਾਰ',
    lakh: 'ਲੱਖ',
    crore: 'ਕਰੋੜ',
    percent: 'ਫ਼ੀਸਦੀ',
    at: 'ਐਟ',
    dot: 'ਡਾਟ',
    dash: 'ਡੈਸ਼',
    underscore: 'ਅੰਡਰਸਕੋਰ',
    slash: 'ਸਲੈਸ਼',
    months: months('ਜਨਵਰੀ ਫਰਵਰੀ ਮਾਰਚ ਅਪ੍ਰੈਲ ਮਈ ਜੂਨ ਜੁਲਾਈ ਅਗਸਤ ਸਤੰਬਰ ਅਕਤੂਬਰ ਨਵੰਬਰ ਦਸੰਬਰ'),
  },
  'od-IN': {
    rupee: 'ଟଙ୍କା',
    rupees: 'ଟଙ୍କା',
    paise: 'ପଇସା',
    thousand: 'ହଜାର',
    lakh: 'ଲକ୍ଷ',
    crore: 'କୋଟି',
    percent: 'ପ୍ରତିଶତ',
    at: 'ଆଟ୍',
    dot: 'ଡଟ୍',
    dash: 'ଡ୍ୟାସ୍',
    underscore: 'ଅଣ୍ଡରସ୍କୋର୍',
    slash: 'ସ୍ଲାସ୍',
    months: months('ଜାନୁଆରୀ ଫେବୃଆରୀ ମାର୍ଚ୍ଚ ଅପ୍ରେଲ ମଇ ଜୁନ ଜୁଲାଇ ଅଗଷ୍ଟ ସେପ୍ଟେମ୍ବର ଅକ୍ଟୋବର ନଭେମ୍ବର ଡିସେମ୍ବର'),
  },
}

const ENGLISH = WORDS['en-IN'] as SpokenWords

export function spokenWords(language: string): SpokenWords {
  return WORDS[language] ?? ENGLISH
}
