import api.calls.PayInApi;
import api.model.CustomerInput;
import api.model.DepositRequest;
import api.model.PaymentMethodChoice;
import control.calls.FaultApi;
import control.calls.RequestApi;
import control.calls.SandboxApi;
import control.model.ApiEffect;
import control.model.ApiFault;
import control.model.ApiMatch;
import control.model.CreateSandbox;
import control.model.CreateSandboxClock;
import control.model.NewFault;
import control.model.RequestMatch;
import control.model.RequestQuestion;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import java.util.UUID;

public class Main {
  private static void check(boolean good, Object what) {
    if (!good) throw new IllegalStateException(String.valueOf(what));
  }

  public static void main(String[] arguments) throws Exception {
    String server = arguments[0];
    String id = arguments[1];
    var steering = new control.ApiClient();
    steering.updateBaseUri(server);
    var sandbox =
        new SandboxApi(steering)
            .sandboxCreate(new CreateSandbox().id(id).seed(7L).clock(new CreateSandboxClock("manual")));
    var effect = new control.model.Error().type(control.model.Error.TypeEnum.ERROR).status(503);
    var fault =
        new ApiFault()
            .effect(new ApiEffect(effect))
            .match(new ApiMatch().operation("deposit-creation"))
            .times(1);
    var armed = new FaultApi(steering).faultAdd(id, new NewFault(fault));
    check("error".equals(armed.getEffect().getType()), armed);

    var credentials = sandbox.getBusinessKey() + ":" + sandbox.getBusinessSecret();
    var basic = "Basic " + Base64.getEncoder().encodeToString(credentials.getBytes(StandardCharsets.UTF_8));
    var business = new api.ApiClient();
    business.updateBaseUri(server);
    business.setRequestInterceptor(request -> request.header("Authorization", basic));
    var deposit =
        new DepositRequest()
            .amount(131072.99)
            .currency("EUR")
            .externalIdentifier("order-17")
            .paymentMethod(new PaymentMethodChoice().type("CREDIT_CARD"))
            .customer(new CustomerInput().firstName("Ada").lastName("Lovelace").email("ada@example.test"));
    var key = UUID.randomUUID();
    var deposits = new PayInApi(business);
    try {
      check(false, deposits.depositCreation(key, deposit));
    } catch (api.ApiException refused) {
      System.out.print(refused.getCode() + " ");
    }
    var answer = deposits.depositCreationWithHttpInfo(key, deposit);
    check(answer.getData().getData().getAmount() == 131072.99, answer.getData());
    System.out.println(answer.getStatusCode());

    var wanted = new RequestMatch().body(Map.<String, Object>of("amount", 131072.99));
    var asked = new RequestApi(steering).requestVerify(id, new RequestQuestion().match(wanted).count(2L));
    check(asked.getPassed(), asked);
  }
}
