// Writes key stores of Java for tests, as told line by line on standard input (passwords are on no command line):
//   set NAME VALUE                                a system property, such as keystore.pkcs12.certProtectionAlgorithm
//   store TYPE PASSWORD                           begins a store
//   key ALIAS PASSWORD KEY_PEM CHAIN_PEM          a private key (PKCS#8) with its certificates
//   trust ALIAS CERTIFICATE_PEM                   a certificate that is trusted
//   write FILE                                    ends the store
import java.io.*;
import java.nio.file.*;
import java.security.*;
import java.security.cert.*;
import java.security.cert.Certificate;
import java.security.spec.*;
import java.util.*;

public class KeyStores {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        KeyStore store = null;
        char[] password = null;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "set" -> System.setProperty(words[1], words[2]);
                case "store" -> {
                    store = KeyStore.getInstance(words[1]);
                    store.load(null, null);
                    password = words[2].toCharArray();
                }
                case "key" -> store.setKeyEntry(words[1], key(words[3]), words[2].toCharArray(), certificates(words[4]));
                case "trust" -> store.setCertificateEntry(words[1], certificates(words[2])[0]);
                case "write" -> {
                    // Another file in the place of the one that is there, at once, as a careful person replaces it.
                    Path file = Path.of(words[1]), written = Path.of(words[1] + ".written");
                    try (OutputStream out = Files.newOutputStream(written)) {
                        store.store(out, password);
                    }
                    Files.move(written, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
                }
                default -> throw new IllegalArgumentException(words[0]);
            }
        }
    }

    static Certificate[] certificates(String file) throws Exception {
        try (InputStream in = Files.newInputStream(Path.of(file))) {
            return CertificateFactory.getInstance("X.509").generateCertificates(in).toArray(new Certificate[0]);
        }
    }

    static PrivateKey key(String file) throws Exception {
        String text = Files.readString(Path.of(file)).replaceAll("-----[A-Z ]+-----", "");
        KeySpec spec = new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(text));
        for (String algorithm : List.of("RSA", "EC")) {
            try {
                return KeyFactory.getInstance(algorithm).generatePrivate(spec);
            } catch (InvalidKeySpecException otherAlgorithm) {
                continue;
            }
        }
        throw new IllegalArgumentException(file);
    }
}
